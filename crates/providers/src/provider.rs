//! A provider is a row: where it lives, how it is paid, which endpoints it serves in the common form.

/// One upstream we can speak to.
#[derive(Debug)]
pub struct Provider {
    pub slug: &'static str,
    /// Absolute, with the version segment, without a trailing slash.
    pub base_url: &'static str,
    pub auth: Auth,
    pub transport: Transport,
    /// Endpoint ids (`protocol::endpoint`) served natively; anything else in a known format needs a translator.
    pub native: &'static [&'static str],
    /// Understands `stream_options.include_usage`.
    pub stream_usage: bool,
    /// Option headers of ours (without prefix) and the upstream header each one becomes.
    pub options: &'static [(&'static str, &'static str)],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Auth {
    /// `Authorization: Bearer <secret>`.
    Bearer,
    /// The upstream asks for nothing.
    Nothing,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transport {
    Network,
    /// Answered inside the process from a script; no socket is opened.
    InProcess,
}
