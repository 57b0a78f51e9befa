//! `gatehouse check`: whether a server would start with these settings, without changing anything.

use std::io::{Write, stdout};

use anyhow::{Result, bail};
use protocol::headers::Prefixes;

use crate::bootstrap;
use crate::compose;
use crate::config::Config;
use crate::data::DataFolder;
use crate::listen::cors::Cors;
use crate::listen::{self, tls};

struct Report {
    text: String,
    problems: usize,
}

impl Report {
    fn line(&mut self, what: &str, result: Result<String>) {
        let (mark, said) = match result {
            Ok(said) => ("ok", said),
            Err(error) => {
                self.problems += 1;
                ("PROBLEM", format!("{error:#}"))
            }
        };
        self.text.push_str(&format!("{mark:<8} {what}: {said}\n"));
    }
}

pub(crate) async fn run(config: &Config) -> Result<()> {
    let mut report = Report { text: String::new(), problems: 0 };
    let changed = match config.changed.len() {
        0 => "all settings are the defaults".to_owned(),
        count => format!("{count} differ from the defaults"),
    };
    report.line("settings", Ok(changed));
    for changed in &config.changed {
        report.text.push_str(&format!("         {} = {} ({})\n", changed.setting, changed.value, changed.from));
    }
    report.line("log", crate::logs::filter(config).map(|_| config.log.level.clone()));
    report.line("listen", address(config).await);
    report.line("tls", encryption(config));
    report.line(
        "headers",
        Prefixes::new(&config.headers.prefixes).map_err(anyhow::Error::msg).map(|_| config.headers.prefixes.join(", ")),
    );
    report.line("cors", Cors::new(&config.cors).map(|_| config.cors.allowed_origins.join(", ")));
    report.line("outbound", way_out(config));
    report.line("data", data(config).await);
    stdout().write_all(report.text.as_bytes())?;
    match report.problems {
        0 => Ok(()),
        1 => bail!("1 problem; a server would not start like this"),
        many => bail!("{many} problems; a server would not start like this"),
    }
}

async fn address(config: &Config) -> Result<String> {
    let address = config.listen()?;
    drop(listen::bind(address).await?);
    let mode = if config.development() { "development" } else { "production" };
    Ok(format!("{address} is free ({mode})"))
}

fn encryption(config: &Config) -> Result<String> {
    match config.tls()? {
        None => Ok("off".into()),
        Some(identity) => tls::acceptor(&identity).map(|_| "certificate and key fit".into()),
    }
}

fn way_out(config: &Config) -> Result<String> {
    compose::outbound(config)?;
    let trusted = config.trusted_custom_hosts();
    let trusted = if trusted.is_empty() { "none".to_owned() } else { trusted.join(", ") };
    let proxy = config.proxy();
    let proxy = if proxy.http.is_some() || proxy.https.is_some() { "through a proxy" } else { "no proxy" };
    Ok(format!("{proxy}; trusted custom hosts: {trusted}"))
}

/// Opens what is there; where nothing is, only sees whether it could be made.
async fn data(config: &Config) -> Result<String> {
    let path = config.data();
    let Ok(folder) = DataFolder::existing(config) else {
        DataFolder::could_be_made(path)?;
        return Ok(format!("`{}` will be made by the first start", path.display()));
    };
    let settings = folder.look(config).await?;
    let checked = async {
        if settings.steps().before == 0 {
            return Ok("empty; the first start fills it".to_owned());
        }
        let Some(home) = bootstrap::home(&settings).await? else { return Ok("empty".to_owned()) };
        bootstrap::fitting_master(&settings, &folder, config, &home).await?;
        if let Some(line) = store::Settings::broken_audit_line(&settings, &home.organisation).await? {
            bail!("the audit trail is broken at line {line}: somebody changed the data past the gateway");
        }
        Ok("the master key fits, the audit trail is whole".to_owned())
    };
    let said = checked.await;
    settings.close().await;
    let place = if config.database.is_elsewhere() { "PostgreSQL".to_owned() } else { format!("`{}`", path.display()) };
    said.map(|said| format!("{place}: {said}"))
}
