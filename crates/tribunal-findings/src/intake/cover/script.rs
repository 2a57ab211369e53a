//! Judges texts in scripts that have no spaces between words, or that the tables of words do not cover, by parts of the
//! text.
//!
//! A clause needs a part that speaks for it and none that speaks against it. The rule is cruder than the one for words
//! and errs the same way: an unknown clause is in doubt.

use super::Manner;

/// Whether a text has letters that are neither Latin nor marks of ours.
pub(super) fn is_foreign(text: &str) -> bool {
    text.chars().any(|c| c.is_alphabetic() && u32::from(c) > 0x24f)
}

/// Parts that speak for the work: what was done, and how it went.
#[rustfmt::skip]
const GOOD: &[&str] = &[
    // Chinese
    "阅读", "读了", "读完", "看了", "查看", "检查", "审查", "审阅", "运行", "执行", "跑了", "测试", "验证", "对比", "编译", "通过", "没有发现",
    "未发现", "没有问题", "无问题", "没问题", "正确", "符合", "完整", "良好", "清晰", "全文", "全部", "检查了", "測試", "檢查", "閱讀", "執行",
    "驗證", "通過",
    // Japanese
    "確認", "読み", "読んだ", "読了", "実行", "成功", "テスト", "問題は見つかりません", "問題ありません", "問題なし", "承認", "レビュー", "比較", "検証",
    "全体", "すべて", "正し", "良好", "合格",
    // Korean
    "읽", "실행", "확인", "통과", "검토", "테스트", "문제 없", "문제가 없", "승인", "이상 없",
    // Russian and Ukrainian
    "прочитал", "проверил", "запустил", "просмотрел", "тест", "пройден", "проходят", "замечаний нет",
    "проблем не", "корректно", "хорошо", "сравнил", "собрал",
];

/// Parts that are removed first, as they deny a word of a fault.
#[rustfmt::skip]
const ABSENT: &[&str] = &[
    "没有发现任何问题", "没有发现问题", "未发现任何问题", "未发现问题", "没有任何问题", "没有问题", "无任何问题", "无问题", "没问题", "沒有發現問題", "沒有問題",
    "0 个失败", "0个失败", "0 失败", "无失败", "问题は見つかりませんでした", "問題は見つかりませんでした", "問題は見つかりません", "問題はありませんでした",
    "問題はありません", "問題ありません", "問題なし", "失敗 0", "失敗0", "0 件失敗", "指摘事項はありません", "指摘なし", "문제가 없습니다", "문제 없습니다",
    "문제가 없", "문제 없", "이상 없", "실패 0", "проблем не обнаружено", "проблем не найдено", "проблем нет",
    "замечаний нет", "ошибок нет", "без ошибок", "ошибок не обнаружено",
];

/// Parts that speak against the work, among them every word that turns, limits or denies.
#[rustfmt::skip]
const BAD: &[&str] = &[
    // Chinese
    "但", "不过", "然而", "除了", "除非", "必须", "需要", "应该", "应当", "建议", "错误", "漏洞", "崩溃", "泄漏", "泄露", "丢失", "死锁",
    "失败", "严重", "风险", "危险", "缺少", "缺失", "没有", "未", "不", "会", "导致", "越界", "注入", "明文", "溢出", "忘", "修复", "修改",
    "问题", "可能", "无法", "无", "删除", "攻击", "绕过", "覆盖掉", "重复", "異常", "异常", "警告", "阻塞", "尚", "仅", "只", "沒", "錯誤",
    "問題", "應該", "必須", "没", "什么都", "丢", "同时写", "一直", "总是", "永远", "任何人", "任意", "可以", "能",
    // Japanese
    "しかし", "ただし", "べき", "必要", "なければ", "ない", "ません", "エラー", "失敗", "バグ", "漏れ", "クラッシュ", "修正", "危険", "脆弱", "誤",
    "不正", "一部", "まだ", "しまう", "しまい", "可能性", "できて", "削除", "欠け", "だが", "ですが", "おそれ", "恐れ", "壊れ", "消え", "られます",
    "されます", "されて", "れる", "落ちる", "落ちます", "捨て", "ずに", "ままに", "ログに出", "競合", "無限", "誰でも", "常に", "ずっと", "続け", "重大", "警告",
    // Korean
    "하지만", "그러나", "지만", "해야", "필요", "오류", "버그", "실패", "누수", "충돌", "위험", "취약", "않", "못", "없", "문제", "삭제",
    "수정", "누락", "때문", "수 있", "누구", "항상", "계속",
    // Russian
    "но ", "однако", "кроме", "нужно", "надо", "должн", "следует", "ошибк", "утечк", "паден", "падает",
    "опасн", "уязв", "слома", "удаля", "теря", "не ", "нет", "никогда", "проблем", "исправ", "без ",
    "критич", "может", "можно", "любой", "всегда",
];

/// Judges a text in such a script. One with Latin words in it is judged by both rules, as each could hide a fault from
/// the other.
pub(super) fn is_harmless(text: &str, manner: Manner) -> bool {
    text.split(['，', '。', '；', '、', '：', ',', ';', ':', '（', '）', '(', ')', '！', '？', '!', '?']).all(
        |clause| {
            let mut clause = clause.trim().to_owned();
            if !clause.chars().any(char::is_alphabetic) {
                return true;
            }
            let mut speaks = false;
            for part in ABSENT {
                if clause.contains(part) {
                    clause = clause.replace(part, " ");
                    speaks = true;
                }
            }
            speaks |= GOOD.iter().any(|part| clause.contains(part));
            let latin = !is_foreign(&clause);
            // A sentence in Latin letters within such a text speaks for itself.
            let words: Vec<&str> = clause
                .split(|c: char| !c.is_ascii_alphabetic() && c != '\'')
                .filter(|word| word.len() > 1)
                .collect();
            if !latin && words.len() > 2 && !super::is_harmless(&words.join(" "), manner) {
                return false;
            }
            let against = BAD.iter().any(|part| clause.contains(part));
            const THINGS: &[&str] = &[
                "文件",
                "代码",
                "代碼",
                "ファイル",
                "コード",
                "差分",
                "改动",
                "変更",
                "파일",
                "코드",
                "файл",
                "код",
            ];
            let count = clause.chars().filter(|c| c.is_alphabetic()).count();
            let named = THINGS.iter().any(|thing| clause.contains(thing));
            let listed = manner == Manner::Checked && (count <= 4 || named && count <= 12);
            !against && (speaks || listed || latin && super::is_harmless(&clause, manner))
        },
    )
}

/// Whether a sentence speaks against the work.
pub(super) fn objects(text: &str) -> bool {
    const AGAINST: &[&str] = &["拒绝", "拒絕", "却下", "不通过", "不通過", "거부", "отклон"];
    BAD.iter().chain(AGAINST).any(|part| text.contains(part))
}

/// Whether a clause reports what was done.
pub(super) fn reports_work(text: &str) -> bool {
    #[rustfmt::skip]
    const DONE: &[&str] = &[
        "阅读", "读了", "读完", "检查", "审查", "运行", "执行", "跑了", "验证", "確認", "読み", "読んだ", "実行", "テスト", "읽", "실행",
        "확인", "검토", "прочитал", "проверил", "запустил",
    ];
    DONE.iter().any(|part| text.contains(part))
}
