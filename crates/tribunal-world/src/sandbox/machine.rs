//! What every launch sees of the machine: programs, libraries and the settings they read.
//!
//! It is an allow list. A top folder that is not named here is absent, and with it other people's homes, other
//! projects, other disks and the sockets of services.

use super::plan::MountPlan;
use super::search;
use std::fs;
use std::path::Path;

/// Top folders that are shown as they are, besides every one whose name begins with `lib`.
///
/// Of `/opt`, where companies keep whatever is theirs, only programs on PATH are shown, with their installations.
const SHOWN: [&str; 10] = ["bin", "dev", "etc", "gnu", "nix", "proc", "sbin", "snap", "sys", "usr"];

/// Places below absent folders that are shown, each with its reason.
const NEEDED: [(&str, &str); 12] = [
    ("/run/systemd/resolve", "the addresses of name servers, where /etc/resolv.conf leads"),
    ("/run/resolvconf", "the same"),
    ("/run/NetworkManager/resolv.conf", "the same"),
    ("/run/nscd", "names of users and hosts"),
    ("/var/lib/sss/mc", "names of users that a directory service keeps"),
    ("/var/lib/sss/pipes/nss", "the same"),
    ("/var/lib/ca-certificates", "certificates, where /etc/ssl leads"),
    ("/var/lib/dpkg", "which packages are installed"),
    ("/var/lib/rpm", "the same"),
    ("/var/lib/texmf", "formats of TeX"),
    ("/var/cache/fontconfig", "fonts"),
    ("/var/lib/locales", "languages"),
];

/// Places in shown folders that are nobody's business. They matter where launches run as root, which could read them.
const SECRET: [&str; 38] = [
    "/etc/shadow",
    "/etc/shadow-",
    "/etc/gshadow",
    "/etc/gshadow-",
    "/etc/sudoers",
    "/etc/sudoers.d",
    "/etc/security/opasswd",
    "/etc/ssl/private",
    "/etc/pki/tls/private",
    "/etc/pki/private",
    "/etc/letsencrypt",
    "/etc/krb5.keytab",
    "/etc/NetworkManager/system-connections",
    "/etc/netplan",
    "/etc/wpa_supplicant",
    "/etc/wireguard",
    "/etc/openvpn",
    "/etc/ipsec.secrets",
    "/etc/ipsec.d/private",
    "/etc/ppp",
    "/etc/cryptsetup-keys.d",
    "/etc/credstore",
    "/etc/credstore.encrypted",
    "/etc/docker",
    "/etc/containers/auth.json",
    "/etc/kubernetes",
    "/etc/rancher",
    "/etc/vault.d",
    "/etc/consul.d",
    "/etc/nomad.d",
    "/etc/netrc",
    "/etc/npmrc",
    "/usr/etc/npmrc",
    "/usr/local/etc/npmrc",
    "/sys/firmware",
    "/sys/kernel/debug",
    "/sys/kernel/security",
    "/sys/kernel/tracing",
];

/// The settings of the machine's git: beside the prefix that it was built for.
const GIT_SETTINGS: [&str; 4] =
    ["/etc/gitconfig", "/usr/etc/gitconfig", "/usr/local/etc/gitconfig", "/usr/local/git/etc/gitconfig"];

/// Hides everything of the machine that is not for launches.
pub(super) fn restrict(plan: &mut MountPlan) {
    for entry in fs::read_dir("/").into_iter().flatten().filter_map(Result::ok) {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let shown = SHOWN.contains(&name.as_ref()) || name.starts_with("lib");
        // A link leads to a place with a rule of its own.
        if !shown && entry.file_type().is_ok_and(|kind| kind.is_dir() || kind.is_file()) {
            plan.hide(entry.path());
        }
    }
    for (place, _) in NEEDED {
        let place = Path::new(place);
        // If it is a link, its target has a rule of its own.
        if place.canonicalize().is_ok_and(|real| real == place) {
            plan.show(place, false);
        }
    }
    SECRET.into_iter().map(Path::new).for_each(|place| hide_readable(plan, place));
    let host_keys = fs::read_dir("/etc/ssh").into_iter().flatten().filter_map(Result::ok);
    for key in host_keys.filter(|entry| entry.file_name().to_string_lossy().ends_with("_key")) {
        hide_readable(plan, &key.path());
    }
    // Of folders that could not be searched, only programs on PATH are shown.
    search::of_machine().unknown.into_iter().for_each(|path| plan.hide(path));
    GIT_SETTINGS.into_iter().map(Path::new).for_each(|git| hide_with_credential(plan, git));
}

/// Hides settings in which somebody keeps a token. Others are shown, because programs need them.
fn hide_with_credential(plan: &mut MountPlan, settings: &Path) {
    // Bytes that are no text may stand beside a token.
    let text = fs::read(settings).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    if text.is_ok_and(|text| super::denied::holds_credential(&text)) {
        plan.hide(settings.canonicalize().unwrap_or_else(|_| settings.to_owned()));
    }
}

/// Hides a place that the user can read. What the user cannot read needs no mount.
fn hide_readable(plan: &mut MountPlan, place: &Path) {
    let plain = place.symlink_metadata().is_ok_and(|meta| !meta.is_symlink());
    if plain && rustix::fs::access(place, rustix::fs::Access::READ_OK).is_ok() {
        plan.hide(place.to_owned());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_with_a_token_are_hidden_and_others_are_not() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().canonicalize().unwrap().join(name);
        fs::write(at("open"), "[core]\n\tpager = less\n").unwrap();
        fs::write(at("closed"), b"[http]\n\textraHeader = \xff word\n").unwrap();
        std::os::unix::fs::symlink("closed", at("link")).unwrap();
        for (name, hidden) in
            [("open", None), ("closed", Some("closed")), ("link", Some("closed")), ("gone", None)]
        {
            let mut plan = MountPlan::default();
            hide_with_credential(&mut plan, &at(name));
            for file in ["open", "closed"] {
                assert_eq!(plan.shows(&at(file)), hidden != Some(file), "{name}: {file}");
            }
        }
    }

    #[test]
    fn the_machine_is_an_allow_list() {
        let mut plan = MountPlan::default();
        restrict(&mut plan);
        for seen in ["/usr/bin/env", "/etc/passwd", "/proc/self", "/lib"] {
            assert!(plan.shows(Path::new(seen)), "{seen}");
        }
        for absent in
            ["/home/x", "/opt/x", "/root", "/run/docker.sock", "/tmp/x", "/var/lib/docker", "/var/log/x"]
        {
            let top: std::path::PathBuf = Path::new(absent).components().take(2).collect();
            assert!(!top.is_dir() || !plan.shows(Path::new(absent)), "{absent}");
        }
        assert!(plan.shown().all(|(from, to)| from == to), "nothing is where it does not belong");
    }
}
