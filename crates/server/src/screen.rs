//! What a person sees when the server starts. Keys are shown once, and only on a terminal.

use std::io::{IsTerminal, Write, stdout};
use std::net::SocketAddr;
use std::path::Path;

use crate::bootstrap::FirstKeys;
use crate::config::Config;
use crate::data::DataFolder;

pub(crate) fn welcome(
    config: &Config,
    folder: &DataFolder,
    address: SocketAddr,
    tls: bool,
    first_keys: Option<&FirstKeys>,
) {
    let text = text(config, folder, address, tls, first_keys, stdout().is_terminal());
    // A closed screen is no reason not to serve.
    stdout().write_all(text.as_bytes()).and_then(|()| stdout().flush()).unwrap_or_default();
}

fn text(
    config: &Config,
    folder: &DataFolder,
    address: SocketAddr,
    tls: bool,
    first_keys: Option<&FirstKeys>,
    terminal: bool,
) -> String {
    let scheme = if tls { "https" } else { "http" };
    let base = format!("{scheme}://{}/v1", reachable(address));
    let data = folder.path().display();
    let mut text = format!("\nGatehouse {} is ready.\n\n", env!("CARGO_PKG_VERSION"));
    let mut row = |name: &str, value: &str| text.push_str(&format!("  {name:<10} {value}\n"));
    row("Base URL", &base);
    row("Data", &data.to_string());
    let workspace_key = folder.first_key("workspace");
    if workspace_key.is_file() {
        row("Keys", &format!("{data}/first-keys/ (admin, workspace)"));
    } else {
        row("Keys", "make one with `gatehouse keys create`");
    }
    if config.master_key().is_none() {
        row("Master key", &format!("{} (back it up, apart from the data)", folder.master_path().display()));
    }
    if !config.development() {
        row("Mode", "production: custom hosts must be public or listed in TRUSTED_CUSTOM_HOSTS");
    }
    if let (Some(keys), true) = (first_keys, terminal) {
        text.push_str("\nYour first keys. They are not shown again:\n\n");
        text.push_str(&format!("  admin      {}\n", keys.admin.expose()));
        text.push_str(&format!("  workspace  {}\n", keys.workspace.expose()));
    }
    text.push_str("\nTry it; the built-in provider `mock` needs no key and no network:\n\n");
    text.push_str(&curl(&base, tls, &workspace_key));
    text.push_str("\n`gatehouse --help` tells more. Stop with Ctrl-C.\n\n");
    text
}

/// A command that works as it stands.
fn curl(base: &str, tls: bool, key: &Path) -> String {
    let key = match key.is_file() {
        true => format!("$(cat {})", quoted(&key.display().to_string())),
        false => "YOUR_WORKSPACE_KEY".to_owned(),
    };
    let insecure = if tls { "-k " } else { "" };
    format!(
        "  curl -s {insecure}{base}/chat/completions \\\n    \
         -H \"x-gateway-api-key: {key}\" \\\n    \
         -H 'x-gateway-provider: mock' -H 'content-type: application/json' \\\n    \
         -d '{{\"model\": \"echo\", \"messages\": [{{\"role\": \"user\", \"content\": \"Hello!\"}}]}}'\n"
    )
}

/// A path inside double quotes and `$(…)`.
fn quoted(path: &str) -> String {
    let plain = |character: char| character.is_ascii_alphanumeric() || "/._-+".contains(character);
    if path.chars().all(plain) { path.to_owned() } else { format!("'{}'", path.replace('\'', r"'\''")) }
}

/// The address a client on this machine can use.
fn reachable(address: SocketAddr) -> String {
    if address.ip().is_unspecified() { format!("localhost:{}", address.port()) } else { address.to_string() }
}

#[cfg(test)]
mod tests {
    use domain::secret::Secret;

    use super::*;
    use crate::config::Flags;

    fn shown(terminal: bool, first: bool) -> String {
        let home = tempfile::tempdir().unwrap();
        let folder = DataFolder::prepare(&home.path().join("it's here")).unwrap();
        folder.keep_first_key("workspace", &Secret::new("canary-workspace")).unwrap();
        let config = Config::load(&Flags { data: Some(folder.path()), ..Flags::default() }).unwrap();
        let keys = FirstKeys { admin: Secret::new("canary-admin"), workspace: Secret::new("canary-workspace") };
        text(&config, &folder, "0.0.0.0:8787".parse().unwrap(), false, first.then_some(&keys), terminal)
    }

    #[test]
    fn keys_are_shown_on_a_terminal_at_the_first_start_and_never_else() {
        assert!(shown(true, true).contains("canary-admin"));
        for text in [shown(false, true), shown(true, false), shown(false, false)] {
            assert!(!text.contains("canary"), "{text}");
        }
    }

    #[test]
    fn the_command_reads_the_key_from_its_file_and_names_an_address_one_can_reach() {
        let text = shown(false, false);
        assert!(text.contains("http://localhost:8787/v1/chat/completions"), "{text}");
        assert!(text.contains(r"it'\''s here/first-keys/workspace')"), "{text}");
    }
}
