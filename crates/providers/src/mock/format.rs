//! A provider's way of speaking, as a row: its paths, and how it says that something is wrong.

use bytes::Bytes;

use super::ask::Ask;
use super::call::Call;
use super::intake::Receipt;
use super::refusal::Refusal;
use super::script::Script;

pub(super) type Endpoint = fn(&Call<'_>) -> Result<Script, Refusal>;

pub(super) struct Format {
    /// As the invoice names it.
    pub(super) name: &'static str,
    /// What may stand in front of the routes' paths.
    pub(super) bases: &'static [&'static str],
    pub(super) routes: &'static [Route],
    /// The header that names an answer.
    pub(super) id_header: &'static str,
    /// Refuses callers that the provider would not let in.
    pub(super) admit: fn(&Ask<'_>, &Receipt) -> Result<(), Refusal>,
    /// The model's own name within what the request calls it.
    pub(super) model_name: fn(&str) -> &str,
    pub(super) refuse: fn(&Refusal) -> Script,
    /// An error in the middle of a stream, as its next event.
    pub(super) interrupt: fn(&Refusal, &Script) -> Bytes,
}

/// Answers to a POST.
pub(super) struct Route {
    /// Below the base; `{model}` stands for one segment or a part of one.
    pub(super) path: &'static str,
    pub(super) reads: Reads,
    pub(super) endpoint: Endpoint,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Reads {
    /// JSON, which must be held whole.
    Json,
    /// A form, which is read in passing.
    Form,
}

impl Route {
    pub(super) const fn json(path: &'static str, endpoint: Endpoint) -> Route {
        Route { path, reads: Reads::Json, endpoint }
    }

    pub(super) const fn form(path: &'static str, endpoint: Endpoint) -> Route {
        Route { path, reads: Reads::Form, endpoint }
    }

    /// The model in the path, still encoded, or `""` where paths hold none; `None` where the path is another.
    fn fit<'a>(&self, path: &'a str) -> Option<&'a str> {
        match self.path.split_once("{model}") {
            None => (self.path == path).then_some(""),
            Some((before, after)) => {
                let model = path.strip_prefix(before)?.strip_suffix(after)?;
                (!model.is_empty() && !model.contains('/')).then_some(model)
            }
        }
    }
}

impl Format {
    /// The route that a path below the base leads to, and the model in that path.
    pub(super) fn route<'a>(&self, path: &'a str) -> Option<(&'static Route, &'a str)> {
        self.routes.iter().find_map(|route| Some((route, route.fit(path)?)))
    }

    /// What follows the base in the path of one of our routes.
    pub(super) fn below_base<'a>(&self, path: &'a str) -> Option<&'a str> {
        let below = self.bases.iter().filter_map(|base| path.strip_prefix(base));
        { below }.find(|path| self.route(path).is_some())
    }
}

pub(super) fn admit_everyone(_: &Ask<'_>, _: &Receipt) -> Result<(), Refusal> {
    Ok(())
}

pub(super) fn as_asked(model: &str) -> &str {
    model
}
