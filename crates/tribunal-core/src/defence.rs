//! The defences that hostile tests are about, by name. All of them stand in every release.
//!
//! Only a program built with the feature `undefended`, which no release can have, takes one away, to prove that its
//! test notices (`cargo xtask hostile`). A switch only omits a defence and never adds behaviour. Nothing here decides
//! or reads anything: whoever starts such a program names the ones that are off.

#[cfg(all(feature = "undefended", not(debug_assertions)))]
// A release has no debug assertions, so no release can be built with the feature.
compile_error!("the feature `undefended` is for proving tests, never for a release");

#[cfg(feature = "undefended")]
use std::sync::atomic::{AtomicU64, Ordering};

/// One bit for each defence that is off.
#[cfg(feature = "undefended")]
static OFF: AtomicU64 = AtomicU64::new(0);

// One list for the enum, its names and its documentation, so that none of them can be forgotten.
macro_rules! defences {
    ($($name:ident = $word:literal, $what:literal;)*) => {
        /// A defence that the proof can take away.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Defence {
            $(#[doc = $what] $name,)*
        }

        impl Defence {
            /// Every defence, in the order of the list below.
            pub const ALL: &[Defence] = &[$(Defence::$name,)*];

            /// The name of the defence, as the proof gives it.
            pub fn word(self) -> &'static str {
                match self {
                    $(Defence::$name => $word,)*
                }
            }
        }
    };
}

defences! {
    Namespace = "namespace", "Each launch has its own process numbers: it sees and signals nobody else.";
    Sweep = "sweep", "What a launch leaves running is ended with it.";
    Sandbox = "sandbox", "Each launch sees and writes only its own files.";
    ReadOnlyReviewer = "read_only_reviewer", "A judge cannot write to what it judges.";
    ReviewerCompare = "reviewer_compare", "A judge that changed what it judged has no verdict.";
    OutputCap = "output_cap", "Who writes too much output is stopped.";
    DiskCap = "disk_cap", "Who leaves too little room on the disk is stopped.";
    ClosedInput = "closed_input", "Standard input is empty, not open.";
    SealedInput = "sealed_input", "Standard input is a copy that nobody can change, not the record of what was asked.";
    NoDiscovery = "no_discovery", "Git never asks the repository that lies in an agent's tree.";
    TreeInPlace = "tree_in_place", "A command runs in the tree that was made for it, or not at all.";
    TreeGone = "tree_gone", "A working folder without its git is no work.";
    NoFollow = "no_follow", "No link in an agent's tree is followed.";
    BaseConfiguration = "base_configuration", "What steers agents comes from the user's commit in a judge's checkout.";
    ProtectedChange = "protected_change", "Changes to configuration, CI and hooks need a person.";
    CommandsAsFound = "commands_as_found", "Verification commands are those the run found.";
    Contract = "contract", "A file that the plan does not claim is sent back.";
    ContractAsFound = "contract_as_found", "A plan's contract is the one that was approved.";
    Secrets = "secrets", "A change that holds a secret is refused.";
    Links = "links", "A link that leads out of the tree is refused.";
    OneVerdict = "one_verdict", "Two verdicts that contradict each other are none.";
    LaunchWord = "launch_word", "What loosens counts only with the word of its launch: nothing that is quoted votes.";
    Evidence = "evidence", "An approval says what was checked.";
    FinalEvent = "final_event", "An answer has its end, and no error: an exit code is none.";
    Utf8 = "utf8", "Bytes that are no text approve nothing.";
    Escapes = "escapes", "No control character of an agent reaches a terminal or a prompt.";
    Markup = "markup", "What agents wrote is no markup on a page.";
    Fence = "fence", "What agents wrote cannot end the block it stands in.";
    OwnSocket = "own_socket", "Only processes of a launch are heard at its socket.";
    RoundClosed = "round_closed", "What a launch says after it was called off does not count.";
    ToolForm = "tool_form", "A tool whose answer cannot be read did not run.";
    BaseCache = "base_cache", "What code of a change leaves in a tool's folder is not there when another change is judged.";
    BaseJudge = "base_judge", "A change is also judged with the files that judge as the base has them.";
    BaseProgram = "base_program", "A program of the tree that judges is that of the base commit.";
    BaseOrders = "base_orders", "A judge that takes its orders from files of the change has not judged.";
    PlainPath = "plain_path", "No program that judges is found through a folder of what is judged.";
    BaseToolSettings = "base_tool_settings", "A tool is also asked with its settings as the base has them.";
    SessionPath = "session_path", "The cookie of the pages is sent to nobody but their own server.";
    StrangersGiveWay = "strangers_give_way", "Strangers who hold connections give way to who comes after them.";
    SecretHistory = "secret_history", "A secret in a commit's message, or taken out by a later commit, is found.";
    SecretDocument = "secret_document", "Documents that Tribunal commits hold no secret of an agent's words.";
    LostCost = "lost_cost", "What a launch had cost that was killed with its run counts.";
    BaseSettings = "base_settings", "The settings of a review are those that the change found, not those it brings.";
    Trust = "trust", "Settings of a repository that reach beyond the sandbox count once its user trusts them.";
    OwnRuns = "own_runs", "Runs, waivers and answers that came with a branch or a clone are not the user's.";
    ForwardChecked = "forward_checked", "What cannot be written is found before the first file is.";
    ForwardSettled = "forward_settled", "A fast-forward that stopped half-way is finished or put back.";
    KernelFiles = "kernel_files", "Nobody inside changes the kernel's settings, root included.";
    SealedInit = "sealed_init", "Nobody traces the first process of a launch, and no tracer delays its end.";
    AbstractSockets = "abstract_sockets", "Sockets without a file and signals stay inside a launch.";
    SystemCalls = "system_calls", "System calls that no agent needs are refused.";
    CheckNetwork = "check_network", "Checks and tools have no network unless the settings give it.";
    KeptSettings = "kept_settings", "A run goes on with the settings it began with, or not at all.";
    ProgramSecrets = "program_secrets", "Secrets that lie beside programs, or in a folder of packages, are not shown with them.";
    InsideAgent = "inside_agent", "Commands that steer runs refuse callers inside an agent.";
}

/// Whether a defence stands: always, except in a program that is built to prove its tests.
///
/// It is a constant here, so the compiler removes the branch that a switch would take.
#[cfg(not(feature = "undefended"))]
pub const fn stands(_: Defence) -> bool {
    true
}

/// Whether a defence stands.
#[cfg(feature = "undefended")]
pub fn stands(defence: Defence) -> bool {
    OFF.load(Ordering::Relaxed) & bit(defence) == 0
}

/// Takes defences away, named with commas between. The error is an unknown name.
///
/// An unknown name must not be ignored: the proof would then run with all defences and report that the test notices
/// nothing.
#[cfg(feature = "undefended")]
pub fn switch_off(names: &str) -> Result<(), String> {
    for name in names.split(',').filter(|name| !name.is_empty()) {
        let found = Defence::ALL.iter().find(|defence| defence.word() == name);
        let defence = found.ok_or_else(|| format!("there is no defence {name:?}"))?;
        OFF.fetch_or(bit(*defence), Ordering::Relaxed);
    }
    Ok(())
}

#[cfg(feature = "undefended")]
fn bit(defence: Defence) -> u64 {
    // One bit each, so the list may hold 64 defences.
    1 << (defence as u64)
}
