//! Why a call ended without a provider's answer, by whose fault it is.

use protocol::error::{Code, Refusal};

#[derive(Debug)]
pub(crate) enum Error {
    /// The caller can mend it, or the provider could not be had: shown as it is.
    Refused(Refusal),
    /// We are broken: the cause is logged and never shown.
    Fault(String),
}

impl Error {
    pub(crate) fn refusal(self, request_id: &str) -> Refusal {
        match self {
            Error::Refused(refusal) => refusal,
            Error::Fault(cause) => {
                tracing::error!(request_id, cause, "a call failed inside the gateway");
                Refusal::new(Code::Internal, "Something went wrong")
            }
        }
    }
}

impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Error {
        Error::Refused(refusal)
    }
}
