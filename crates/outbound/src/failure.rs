//! What can go wrong on the way out, in a short code for machines and a sentence for people. Neither contains what was
//! sent: no query, no user name, no header value.

use std::error::Error;
use std::io::{self, ErrorKind};

use crate::{BoxError, Refusal};

#[derive(Debug, thiserror::Error)]
pub enum SendError {
    /// The guard said no; nothing left the machine.
    #[error("the destination is refused: {0}")]
    Refused(Refusal),
    #[error("the connection was not established in time")]
    ConnectTimeout,
    #[error("cannot connect: {detail} ({code})")]
    Connect { code: &'static str, detail: String },
    /// It failed after connecting and before the head of the answer.
    #[error("the exchange broke off: {detail} ({code})")]
    Exchange { code: &'static str, detail: String },
    /// Our own request body failed: the caller hung up, or sent too much.
    #[error("the request body failed: {0}")]
    Upload(BoxError),
}

/// Why there is no connection; travels through the HTTP client as the cause of its error.
#[derive(Debug, Clone, thiserror::Error)]
pub(crate) enum Failure {
    #[error(transparent)]
    Refused(#[from] Refusal),
    #[error("the time for connecting is over")]
    Timeout,
    #[error("{detail}")]
    Broken { code: &'static str, detail: String },
}

impl Failure {
    pub(crate) fn broken(code: &'static str, detail: impl Into<String>) -> Failure {
        Failure::Broken { code, detail: detail.into() }
    }

    /// `whom` is a host and a port, never more of a URL.
    pub(crate) fn io(whom: &str, error: &io::Error) -> Failure {
        Failure::broken(io_code(error), format!("`{whom}`: {error}"))
    }

    pub(crate) fn lookup(host: &str, error: &io::Error) -> Failure {
        // The system's resolver gives no codes, only words.
        let text = error.to_string();
        let code = if text.contains("emporary failure") { "EAI_AGAIN" } else { "ENOTFOUND" };
        Failure::broken(code, format!("`{host}` cannot be resolved: {text}"))
    }

    /// For a proxy that could not be reached or would not dig the tunnel.
    pub(crate) fn tunnel(error: &(dyn Error + 'static)) -> Failure {
        match find::<Failure>(error) {
            Some(failure) => failure.clone(),
            None => Failure::broken("EPROXY", format!("the proxy gave no tunnel: {error}")),
        }
    }

    /// For an error that came out of the TLS layer, which also carries failures from below it.
    pub(crate) fn tls(whom: &str, error: &(dyn Error + 'static)) -> Failure {
        if let Some(failure) = find::<Failure>(error) {
            return failure.clone();
        }
        if let Some(tls) = find::<rustls::Error>(error) {
            return Failure::broken("ETLS", format!("`{whom}`: {tls}"));
        }
        match find_io(error) {
            Some(io) if io_code(io) != "EIO" => Failure::io(whom, io),
            _ => Failure::broken("ETLS", format!("`{whom}`: {error}")),
        }
    }
}

impl From<Failure> for SendError {
    fn from(failure: Failure) -> SendError {
        match failure {
            Failure::Refused(refusal) => SendError::Refused(refusal),
            Failure::Timeout => SendError::ConnectTimeout,
            Failure::Broken { code, detail } => SendError::Connect { code, detail },
        }
    }
}

impl From<hyper_util::client::legacy::Error> for SendError {
    fn from(error: hyper_util::client::legacy::Error) -> SendError {
        if let Some(failure) = find::<Failure>(&error) {
            return failure.clone().into();
        }
        let detail = deepest(&error);
        if error.is_connect() {
            return SendError::Connect { code: find_io(&error).map_or("ECONNRESET", io_code), detail };
        }
        SendError::Exchange { code: exchange_code(&error), detail }
    }
}

fn exchange_code(error: &(dyn Error + 'static)) -> &'static str {
    if let Some(io) = find_io(error) {
        return io_code(io);
    }
    match find::<hyper::Error>(error) {
        Some(http) if http.is_incomplete_message() || http.is_canceled() || http.is_closed() => "ECONNRESET",
        Some(http) if http.is_parse_too_large() => "EHEADSIZE",
        Some(http) if http.is_timeout() => "ETIMEDOUT",
        Some(_) => "EPROTO",
        None => "ECONNRESET",
    }
}

fn io_code(error: &io::Error) -> &'static str {
    match error.kind() {
        ErrorKind::ConnectionRefused => "ECONNREFUSED",
        ErrorKind::ConnectionReset | ErrorKind::UnexpectedEof => "ECONNRESET",
        ErrorKind::ConnectionAborted => "ECONNABORTED",
        ErrorKind::BrokenPipe => "EPIPE",
        ErrorKind::TimedOut => "ETIMEDOUT",
        ErrorKind::HostUnreachable => "EHOSTUNREACH",
        ErrorKind::NetworkUnreachable => "ENETUNREACH",
        ErrorKind::NetworkDown => "ENETDOWN",
        ErrorKind::AddrNotAvailable => "EADDRNOTAVAIL",
        ErrorKind::PermissionDenied => "EACCES",
        _ => match error.raw_os_error() {
            Some(23) => "ENFILE",
            Some(24) => "EMFILE",
            _ => "EIO",
        },
    }
}

/// The innermost I/O error: the outer ones only wrap it.
fn find_io<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a io::Error> {
    causes(error).filter_map(|cause| cause.downcast_ref()).last()
}

fn find<'a, T: Error + 'static>(error: &'a (dyn Error + 'static)) -> Option<&'a T> {
    causes(error).find_map(|cause| cause.downcast_ref())
}

fn deepest(error: &(dyn Error + 'static)) -> String {
    causes(error).last().map_or_else(String::new, |cause| cause.to_string())
}

/// The error and what is behind it. `io::Error` hides what it wraps from `source`, so it is opened.
fn causes<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |&cause| match cause.downcast_ref::<io::Error>() {
        Some(io) => io.get_ref().map(|inner| inner as &(dyn Error + 'static)),
        None => cause.source(),
    })
}
