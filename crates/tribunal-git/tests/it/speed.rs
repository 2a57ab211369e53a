//! What each step of a lane costs in a repository of a thousand files. The bounds are wide; the numbers are for people
//! (`cargo test -p tribunal-git speed -- --nocapture`).

use std::fs;
use std::time::{Duration, Instant};

use tribunal_git::{Oid, Rebased, RefChange, WorktreePool};

use crate::support::{World, who, write};

/// CPU time of this process and its ended children.
fn cpu() -> Duration {
    let text = fs::read_to_string("/proc/self/stat").expect("reads");
    let after = text.rsplit_once(')').expect("a name").1;
    let ticks: u64 =
        after.split_whitespace().skip(11).take(4).map(|n| n.parse::<u64>().expect("a number")).sum();
    Duration::from_millis(ticks * 10)
}

#[test]
fn a_lane_is_cheap() {
    let world = World::made(&[], |root| {
        for n in 0..1000 {
            let text: String =
                (0..60).map(|line| format!("line {line} of file {n}: {}\n", n * line)).collect();
            write(root, &format!("src/d{}/f{n}.rs", n % 40), &text);
        }
    });
    let (repo, base) = (&world.repo, &world.head);
    let onto = world.commit(base, &[("landed", "l\n")], "landed");
    let worktree_pool = WorktreePool::open(&world.repo, &world.dir.path().join("pool"), 4).expect("opens");
    let out = |name: String, commit: &Oid| {
        let lane = world.dir.path().join("lanes").join(name);
        fs::create_dir_all(&lane).expect("mkdir");
        worktree_pool.checkout(&lane.join("tree"), &lane.join("index"), commit, "lane").expect("checks out")
    };
    let lanes: u32 = std::env::var("TRIBUNAL_LANES").ok().and_then(|n| n.parse().ok()).unwrap_or(3);
    let mut spent: Vec<(&str, Duration, Duration)> = Vec::new();
    for lane in 0..lanes {
        let mut clock = (Instant::now(), cpu());
        let mut lap = |name: &'static str| {
            let now = (Instant::now(), cpu());
            match spent.iter_mut().find(|(step, ..)| *step == name) {
                Some(step) => {
                    step.1 += now.0 - clock.0;
                    step.2 += now.1 - clock.1;
                }
                None => spent.push((name, now.0 - clock.0, now.1 - clock.1)),
            }
            clock = now;
        };
        let tree = out(format!("l{lane}"), base);
        lap("checkout");
        for n in 0..5 {
            write(tree.path(), &format!("src/d{n}/new{lane}.rs"), &format!("fn f{lane}() {{}}\n"));
        }
        lap("(agent)");
        let captured = tree.capture().expect("captures");
        lap("capture");
        let head =
            repo.commit(&captured.tree, std::slice::from_ref(base), "work", &who(), &who()).expect("commits");
        lap("commit");
        let reviewer = out(format!("s{lane}"), &head);
        lap("reviewer checkout");
        repo.changes(base, &head).expect("diff");
        repo.diff_text(base, &head, &[], 1 << 20).expect("diff");
        lap("diffs");
        assert_eq!(reviewer.compare().expect("compares"), []);
        lap("compare");
        let Rebased::Clean { head: new, .. } = repo.replay(base, &head, &onto, &who()).expect("replays")
        else {
            panic!("conflict");
        };
        lap("replay");
        assert!(repo.carries_over(base, &head, &onto, &new, &[]).expect("answers"));
        lap("carries over");
        let moves = [
            RefChange::create(format!("refs/tribunal/lane/{lane}"), &new),
            RefChange::create(format!("refs/tribunal/base/{lane}"), base),
        ];
        repo.refs_update(&moves, "t").expect("moves");
        lap("refs");
        repo.snapshot(&tree, &format!("refs/tribunal/snap/{lane}"), "s", &who()).expect("saves");
        lap("snapshot");
        worktree_pool.retire(&tree).expect("retires");
        worktree_pool.recycle(&reviewer).expect("shelves");
        lap("retire");
    }
    let before = cpu();
    worktree_pool.empty();
    let deleting = cpu() - before;
    let mut total = deleting;
    for (name, sandbox, cpu) in &spent {
        total += *cpu;
        println!("{name:14} wall {:6.1} ms  cpu {:6.1} ms", ms(*sandbox, lanes), ms(*cpu, lanes));
    }
    println!("lanes: {lanes}  cpu per lane {:.1} ms", ms(total, lanes));
    assert!(total / lanes < Duration::from_secs(2), "{total:?}");
}

fn ms(time: Duration, lanes: u32) -> f64 {
    time.as_secs_f64() * 1000.0 / f64::from(lanes)
}
