use std::collections::HashMap;
use std::collections::HashSet;

use toml::Table;

use super::sources::{BESIDE_DATA, DEFAULTS, SECRET, VARIABLES, leaves};
use super::*;

fn with(variables: &[(&str, &str)], flags: &Flags<'_>) -> Result<Config, String> {
    let mut variables: HashMap<String, String> =
        variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    variables.entry("HOME".into()).or_insert("/nowhere/home".into());
    Config::read(flags, &|name| variables.get(name).cloned()).map_err(|bad| bad.to_string())
}

fn file(text: &str) -> tempfile::NamedTempFile {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), text).unwrap();
    file
}

fn with_file(text: &str) -> Result<Config, String> {
    let file = file(text);
    with(&[], &Flags { config: Some(file.path()), ..Flags::default() })
}

#[test]
fn the_default_file_holds_every_setting_and_a_variable_for_each() {
    with(&[], &Flags::default()).unwrap();
    let defaults: Table = DEFAULTS.parse().unwrap();
    let listed: HashSet<String> = leaves(&defaults).into_iter().map(|(setting, _)| setting).collect();
    let named: HashSet<String> = VARIABLES.iter().map(|(setting, _)| (*setting).to_owned()).collect();
    assert_eq!(listed, named);
    for (setting, variables) in VARIABLES {
        for variable in *variables {
            let documented = DEFAULTS.contains(*variable) || DEFAULTS.contains(&variable.to_uppercase());
            assert!(documented, "{variable} of {setting} is not named in config.default.toml");
        }
    }
    for secret in SECRET {
        assert!(listed.contains(*secret), "{secret}");
    }
}

#[test]
fn file_is_overruled_by_environment_and_that_by_flags() {
    let file = file("[server]\nlisten = \"127.0.0.1:1\"\n[log]\nlevel = \"error\"\nformat = \"json\"\n");
    let flags = Flags { config: Some(file.path()), listen: Some("127.0.0.1:3"), ..Flags::default() };
    let config = with(&[("LISTEN", "127.0.0.1:2"), ("LOG_LEVEL", "warn")], &flags).unwrap();
    assert_eq!(config.listen().unwrap().port(), 3);
    assert_eq!(config.log.level, "warn");
    assert_eq!(config.log.format, LogFormat::Json);
    let from = |setting: &str| config.changed.iter().find(|changed| changed.setting == setting).unwrap().from.clone();
    assert_eq!(from("server.listen"), "--listen");
    assert_eq!(from("log.level"), "LOG_LEVEL");
    assert_eq!(from("log.format"), file.path().display().to_string());
}

#[test]
fn a_file_in_the_data_folder_is_read_and_cannot_move_it() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join(BESIDE_DATA), "[log]\nlevel = \"error\"\n").unwrap();
    let flags = Flags { data: Some(folder.path()), ..Flags::default() };
    assert_eq!(with(&[], &flags).unwrap().log.level, "error");
    assert_eq!(with(&[("LOG_LEVEL", "debug")], &flags).unwrap().log.level, "debug");
    std::fs::write(folder.path().join(BESIDE_DATA), "[server]\ndata = \"/elsewhere\"\n").unwrap();
    assert!(with(&[], &flags).unwrap_err().contains("cannot move it"));
}

#[test]
fn unknown_settings_are_refused_with_the_nearest_known_one() {
    let refusal = with_file("[limits]\njson_mbs = 3\n").unwrap_err();
    assert!(refusal.contains("`limits.json_mbs`") && refusal.contains("did you mean `limits.json_mb`"), "{refusal}");
    let refusal = with_file("[nonsense]\nentirely_else = 3\n").unwrap_err();
    assert!(refusal.contains("`nonsense.entirely_else`"), "{refusal}");
    let set = ["log.levl=debug".to_owned()];
    let refusal = with(&[], &Flags { set: &set, ..Flags::default() }).unwrap_err();
    assert!(refusal.contains("did you mean `log.level`"), "{refusal}");
}

#[test]
fn values_of_the_wrong_kind_are_refused_wherever_they_come_from() {
    assert!(with_file("[limits]\njson_mb = \"3\"\n").unwrap_err().contains("must be of type integer"));
    assert!(with_file("[log]\nformat = \"yaml\"\n").unwrap_err().contains("log.format"));
    assert!(with_file("[log\n").unwrap_err().contains("line 1"));
    for (name, value, says) in [
        ("PORT", "eighty", "PORT must be a whole number"),
        ("PORT", "-1", "PORT must be a whole number"),
        ("PORT", "70000", "server.port"),
        ("ENABLE_PROMETHEUS", "perhaps", "ENABLE_PROMETHEUS must be `true` or `false`"),
        ("LISTEN", "nowhere", "`nowhere` is no address"),
        ("ENVIRONMENT", "staging", "server.environment"),
        ("REQUEST_TIMEOUT", "0", "`timeouts.request_ms` (from REQUEST_TIMEOUT) is 0"),
        ("DATABASE_URL", "mysql://u:canary@h/d", "DATABASE_URL"),
        ("DB_SSL", "perhaps", "DB_SSL"),
        ("BOOTSTRAP_ADMIN_KEY", "short-canary", "BOOTSTRAP_ADMIN_KEY is shorter"),
        ("BOOTSTRAP_WORKSPACE_KEY", "ghk_ws_canary-canary-canary", "looks like a key of ours"),
    ] {
        let refusal = with(&[(name, value)], &Flags::default()).unwrap_err();
        assert!(refusal.contains(says), "{name}={value}: {refusal}");
        assert!(!refusal.contains("canary"), "{refusal}");
    }
}

#[test]
fn a_broken_file_is_told_by_place_without_its_text() {
    let refusal = with_file("[secrets]\nmaster_key = \"canary-canary\n").unwrap_err();
    assert!(refusal.contains("line 2"), "{refusal}");
    assert!(!refusal.contains("canary"), "{refusal}");
}

#[test]
fn secrets_are_not_shown_among_the_changes_nor_by_debug() {
    let config = with(&[("METRICS_TOKEN", "canary-token"), ("HTTPS_PROXY", "http://u:canary@p:1")], &Flags::default());
    let config = config.unwrap();
    assert!(config.changed.iter().any(|changed| changed.setting == "metrics.token" && changed.value == "[secret]"));
    assert!(!format!("{config:?}").contains("canary"));
}

#[test]
fn the_environment_is_development_only_on_loopback_unless_told() {
    let development = |variables: &[(&str, &str)]| with(variables, &Flags::default()).unwrap().development();
    assert!(development(&[]));
    assert!(!development(&[("LISTEN", "0.0.0.0:8787")]));
    assert!(development(&[("LISTEN", "0.0.0.0:8787"), ("ENVIRONMENT", "development")]));
    assert!(!development(&[("ENVIRONMENT", "production")]));
}

#[test]
fn trusted_hosts_are_this_machine_in_development_and_what_is_listed_elsewhere() {
    let trusted = |variables: &[(&str, &str)]| {
        let config = with(variables, &Flags::default()).unwrap();
        config.trusted_custom_hosts().into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    assert!(trusted(&[]).contains(&"127.0.0.1".to_owned()));
    assert!(trusted(&[("ENVIRONMENT", "production")]).is_empty());
    assert!(trusted(&[("TRUSTED_CUSTOM_HOSTS", "none")]).is_empty());
    assert_eq!(trusted(&[("TRUSTED_CUSTOM_HOSTS", "a.example, *.b.example")]), ["a.example", "*.b.example"]);
}

#[test]
fn a_port_alone_replaces_the_port_and_a_flag_replaces_both() {
    let listen = |variables: &[(&str, &str)], flag| {
        with(variables, &Flags { listen: flag, ..Flags::default() }).unwrap().listen().unwrap().to_string()
    };
    assert_eq!(listen(&[("PORT", "9000")], None), "127.0.0.1:9000");
    assert_eq!(listen(&[("PORT", "9000")], Some("127.0.0.1:1234")), "127.0.0.1:1234");
    assert_eq!(listen(&[], Some("localhost:1234")), "127.0.0.1:1234");
}

#[test]
fn an_empty_variable_counts_as_not_set() {
    let config = with(&[("LOG_LEVEL", ""), ("XDG_DATA_HOME", "/data/home")], &Flags::default()).unwrap();
    assert_eq!(config.log.level, "info");
    assert_eq!(config.data(), Path::new("/data/home/gatehouse"));
}
