//! Why a destination is refused: one code for machines and one sentence for people.

use std::fmt;

/// A destination that must not be called, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct Refusal {
    pub reason: Reason,
}

impl From<Reason> for Refusal {
    fn from(reason: Reason) -> Refusal {
        Refusal { reason }
    }
}

macro_rules! reasons {
    ($($name:ident $code:literal $sentence:literal)+) => {
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Reason { $($name),+ }

        impl Reason {
            pub const ALL: &'static [Reason] = &[$(Reason::$name),+];

            /// Stable and snake case, for logs and metrics.
            pub fn code(self) -> &'static str {
                match self { $(Reason::$name => $code),+ }
            }

            fn sentence(self) -> &'static str {
                match self { $(Reason::$name => $sentence),+ }
            }
        }
    };
}

reasons! {
    TooLong "too_long" "URLs longer than 2048 bytes are refused; use a shorter one"
    NotAUrl "not_a_url" "this is not an absolute URL; write it like `https://api.example.com/v1`"
    BadScheme "bad_scheme" "only `http` and `https` URLs can be called"
    ControlCharacter "control_character" "white space and control characters in a URL are refused; remove them"
    Backslash "backslash" "backslashes in a URL are refused; use `/`"
    Userinfo "userinfo" "user names and passwords in a URL are refused; send credentials in a header"
    HasQuery "has_query" "a base URL cannot have a query; remove everything from `?` on"
    HasFragment "has_fragment" "a URL to call cannot have a fragment; remove everything from `#` on"
    EncodedHost "encoded_host" "percent-encoded host names are refused; write the host in plain letters"
    ZoneId "zone_id" "addresses with a zone id are refused; use a global address"
    BadHost "bad_host" "this is not a host name or an address; use letters, digits, `-` and `.`"
    BadPort "bad_port" "the port is not a number from 1 to 65535 in plain digits"
    BlockedPort "blocked_port" "this port belongs to a service that is not HTTP and is always refused; use another port"
    TooManyLabels "too_many_labels" "host names of more than 10 labels are refused; use a shorter name"
    TrailingDot "trailing_dot" "host names that end in a dot are refused; remove the dot"
    Punycode "punycode" "international host names are refused; add the `xn--` form to `TRUSTED_CUSTOM_HOSTS` to allow it"
    DisguisedHost "disguised_host" "host names in look-alike letters are refused; write the host in plain ASCII"
    NoncanonicalAddress "noncanonical_address" "IPv4 addresses are accepted only as four plain decimal numbers, like `192.0.43.8`"
    MetadataAddress "metadata_address" "addresses of cloud metadata services are always refused"
    MetadataHost "metadata_host" "names of cloud metadata and cluster control services are always refused"
    UnspecifiedAddress "unspecified_address" "unspecified addresses are refused; add the host to `TRUSTED_CUSTOM_HOSTS` to allow it"
    LoopbackAddress "loopback_address" "loopback addresses are refused; add the host to `TRUSTED_CUSTOM_HOSTS` to allow it"
    PrivateAddress "private_address" "private addresses are refused; add the host to `TRUSTED_CUSTOM_HOSTS` to allow it"
    SharedAddress "shared_address" "shared (carrier-grade NAT) addresses are refused; add the host to `TRUSTED_CUSTOM_HOSTS` to allow it"
    LinkLocalAddress "link_local_address" "link-local addresses are refused; add the host to `TRUSTED_CUSTOM_HOSTS` to allow it"
    MulticastAddress "multicast_address" "multicast addresses are refused; use the address of one host"
    ReservedAddress "reserved_address" "reserved addresses are refused; add the host to `TRUSTED_CUSTOM_HOSTS` to allow it"
    BlockedSuffix "blocked_suffix" "names of private networks are refused; add the host to `TRUSTED_CUSTOM_HOSTS` to allow it"
    RebindingHelper "rebinding_helper" "names that lead to an address of the caller's choice are refused; add the host to `TRUSTED_CUSTOM_HOSTS` to allow it"
    SingleLabel "single_label" "host names without a dot are refused; add the host to `TRUSTED_CUSTOM_HOSTS` to allow it"
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.sentence())
    }
}
