//! What the mock writes down: what arrived, and what it would bill.

use crate::calls::Calls;
use crate::invoice::Invoice;

pub(crate) struct Books {
    pub(crate) calls: Calls,
    pub(crate) invoice: Invoice,
}
