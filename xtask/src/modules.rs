//! The modules of one crate and which of them uses which.
//!
//! - `mod child;` is no use: a parent may hold a child without knowing it.
//! - A re-export (`pub use child::X`) is a sign on the door, not a use; a later `X` in the parent's own code is one.
//! - A name is followed to the module that defines it, through re-exports and imports of everything.
//! - Test-only modules are left out.

use std::collections::{BTreeMap, BTreeSet};

use syn::spanned::Spanned;
use syn::visit::{self, Visit};

use crate::house::{Source, modules_folder};
use crate::reading::{is_test_only, leaves, scan};

#[derive(Default)]
pub(crate) struct Modules {
    pub(crate) all: Vec<Module>,
}

#[derive(Default)]
pub(crate) struct Module {
    /// `crate::signing::sigv4`.
    pub(crate) name: String,
    pub(crate) file: String,
    parent: Option<usize>,
    children: BTreeMap<String, usize>,
    items: BTreeSet<String>,
    imports: BTreeMap<String, Vec<String>>,
    globs: Vec<Vec<String>>,
    uses: Vec<Use>,
}

struct Use {
    segments: Vec<String>,
    line: usize,
}

/// One module uses another; the first place where it does.
pub(crate) struct Arrow {
    pub(crate) from: usize,
    pub(crate) to: usize,
    pub(crate) path: String,
    pub(crate) line: usize,
}

/// Guards against imports that name each other in a ring.
const DEEPEST: usize = 16;

/// The crates of a package: its library and each of its programs.
pub(crate) fn crates<'a>(sources: &[&'a Source]) -> Vec<Modules> {
    let is_root = |source: &&&Source| {
        let path = &source.path;
        path.ends_with("/src/lib.rs") || path.ends_with("/src/main.rs") || path.contains("/src/bin/")
    };
    let files: BTreeMap<&str, &'a Source> = sources.iter().map(|source| (source.path.as_str(), *source)).collect();
    let grow = |root: &&Source| {
        let mut modules = Modules::default();
        let module = Module { name: "crate".to_owned(), file: root.path.clone(), ..Module::default() };
        modules.grow(module, &root.syntax.items, &modules_folder(&root.path), &files);
        modules
    };
    sources.iter().filter(is_root).map(grow).collect()
}

impl Modules {
    fn grow(&mut self, module: Module, items: &[syn::Item], folder: &str, files: &BTreeMap<&str, &Source>) -> usize {
        let index = self.all.len();
        let (name, file) = (module.name.clone(), module.file.clone());
        self.all.push(module);
        let mut reader = Reader::default();
        for item in items {
            let syn::Item::Mod(child) = item else {
                reader.visit_item(item);
                continue;
            };
            if is_test_only(&child.attrs) {
                continue;
            }
            let ident = child.ident.to_string();
            let inside = format!("{folder}/{ident}");
            let mut module = Module { name: format!("{name}::{ident}"), parent: Some(index), ..Module::default() };
            let grown = if let Some((_, items)) = &child.content {
                module.file.clone_from(&file);
                self.grow(module, items, &inside, files)
            } else {
                let elsewhere = path_attribute(&child.attrs).map(|path| beside(&file, &path));
                let places = [elsewhere.unwrap_or_else(|| format!("{inside}.rs")), format!("{inside}/mod.rs")];
                let Some(source) = places.iter().find_map(|place| files.get(place.as_str())) else { continue };
                module.file.clone_from(&source.path);
                self.grow(module, &source.syntax.items, &modules_folder(&source.path), files)
            };
            self.all[index].children.insert(ident, grown);
        }
        let module = &mut self.all[index];
        (module.items, module.imports, module.globs, module.uses) =
            (reader.items, reader.imports, reader.globs, reader.uses);
        index
    }

    pub(crate) fn arrows(&self) -> Vec<Arrow> {
        let mut found: BTreeMap<(usize, usize), Arrow> = BTreeMap::new();
        for (from, module) in self.all.iter().enumerate() {
            for used in &module.uses {
                if let Some(to) = self.resolve(from, &used.segments, 0)
                    && to != from
                {
                    let arrow = Arrow { from, to, path: used.segments.join("::"), line: used.line };
                    found.entry((from, to)).or_insert(arrow);
                }
            }
        }
        found.into_values().collect()
    }

    /// The module that defines what a path names, seen from `from`; `None` when it is not of this crate.
    fn resolve(&self, from: usize, segments: &[String], depth: usize) -> Option<usize> {
        if depth > DEEPEST {
            return None;
        }
        let module = &self.all[from];
        let (first, rest) = segments.split_first()?;
        match first.as_str() {
            "crate" => return self.walk(0, rest, depth),
            "self" if !rest.is_empty() => return self.walk(from, rest, depth),
            "super" => {
                let mut at = module.parent?;
                let mut rest = rest;
                while let Some((next, others)) = rest.split_first()
                    && next == "super"
                {
                    at = self.all[at].parent?;
                    rest = others;
                }
                return self.walk(at, rest, depth);
            }
            _ => {}
        }
        if let Some(target) = module.imports.get(first)
            && (target.first() != Some(first) || module.children.contains_key(first))
        {
            let path: Vec<String> = target.iter().chain(rest).cloned().collect();
            return match module.children.get(first) {
                Some(child) if target.first() == Some(first) => self.walk(*child, &path[1..], depth + 1),
                _ => self.resolve(from, &path, depth + 1),
            };
        }
        // A name alone cannot be a module's: it is a variable that happens to be called so.
        if let Some(child) = module.children.get(first).filter(|_| !rest.is_empty()) {
            return self.walk(*child, rest, depth);
        }
        if module.items.contains(first) {
            return Some(from);
        }
        self.through_globs(from, segments, depth)
    }

    /// The module that defines `path`, looked up inside module `at`.
    fn walk(&self, at: usize, path: &[String], depth: usize) -> Option<usize> {
        if depth > DEEPEST {
            return None;
        }
        let module = &self.all[at];
        let Some((first, rest)) = path.split_first() else { return Some(at) };
        if let Some(child) = module.children.get(first) {
            return self.walk(*child, rest, depth);
        }
        if module.items.contains(first) {
            return Some(at);
        }
        if let Some(target) = module.imports.get(first) {
            let path: Vec<String> = target.iter().chain(rest).cloned().collect();
            return self.resolve(at, &path, depth + 1);
        }
        // What is left was made by a macro: it stands here.
        self.through_globs(at, path, depth).or(Some(at))
    }

    fn through_globs(&self, at: usize, path: &[String], depth: usize) -> Option<usize> {
        self.all[at].globs.iter().find_map(|glob| {
            let open = match glob.first().and_then(|first| self.all[at].children.get(first)) {
                Some(child) => self.walk(*child, &glob[1..], depth + 1)?,
                None => self.resolve(at, glob, depth + 1)?,
            };
            let inside = &self.all[open];
            let first = path.first()?;
            let known = inside.items.contains(first) || inside.imports.contains_key(first);
            (open != at && (known || inside.children.contains_key(first) && path.len() > 1))
                .then(|| self.walk(open, path, depth + 1))?
        })
    }
}

/// The text of `#[path = "…"]`.
fn path_attribute(attributes: &[syn::Attribute]) -> Option<String> {
    attributes.iter().find_map(|attribute| match &attribute.meta {
        syn::Meta::NameValue(pair) if pair.path.is_ident("path") => match &pair.value {
            syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(text), .. }) => Some(text.value()),
            _ => None,
        },
        _ => None,
    })
}

/// A path that is written relative to a file's folder.
fn beside(file: &str, path: &str) -> String {
    let mut parts: Vec<&str> = file.split('/').collect();
    parts.pop();
    for part in path.split('/') {
        match part {
            "." => {}
            ".." => _ = parts.pop(),
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// What one module, without its children, defines and names.
#[derive(Default)]
struct Reader {
    items: BTreeSet<String>,
    imports: BTreeMap<String, Vec<String>>,
    globs: Vec<Vec<String>>,
    uses: Vec<Use>,
    /// Bodies of functions define nothing for others.
    depth: usize,
}

impl<'ast> Visit<'ast> for Reader {
    fn visit_item(&mut self, item: &'ast syn::Item) {
        let (name, attributes): (Option<&syn::Ident>, &[syn::Attribute]) = match item {
            syn::Item::Const(item) => (Some(&item.ident), &item.attrs),
            syn::Item::Enum(item) => (Some(&item.ident), &item.attrs),
            syn::Item::Fn(item) => (Some(&item.sig.ident), &item.attrs),
            syn::Item::Macro(item) => (item.ident.as_ref(), &item.attrs),
            syn::Item::Static(item) => (Some(&item.ident), &item.attrs),
            syn::Item::Struct(item) => (Some(&item.ident), &item.attrs),
            syn::Item::Trait(item) => (Some(&item.ident), &item.attrs),
            syn::Item::Type(item) => (Some(&item.ident), &item.attrs),
            syn::Item::Union(item) => (Some(&item.ident), &item.attrs),
            syn::Item::Impl(item) => (None, &item.attrs),
            _ => (None, &[]),
        };
        if is_test_only(attributes) {
            return;
        }
        if let Some(name) = name
            && self.depth == 0
        {
            self.items.insert(name.to_string());
        }
        self.depth += 1;
        visit::visit_item(self, item);
        self.depth -= 1;
    }

    fn visit_item_mod(&mut self, _: &'ast syn::ItemMod) {}

    /// `pub(crate)` names no module.
    fn visit_vis_restricted(&mut self, _: &'ast syn::VisRestricted) {}

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        if item.leading_colon.is_some() || is_test_only(&item.attrs) {
            return;
        }
        let private = matches!(item.vis, syn::Visibility::Inherited);
        for leaf in leaves(&item.tree) {
            match leaf.name {
                None => self.globs.push(leaf.segments),
                Some(name) => {
                    if private {
                        self.uses.push(Use { segments: leaf.segments.clone(), line: leaf.line });
                    }
                    self.imports.insert(name, leaf.segments);
                }
            }
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        if path.leading_colon.is_none() {
            let segments = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
            self.uses.push(Use { segments, line: path.span().start().line });
        }
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        self.visit_path(&call.path);
        let mut paths = Vec::new();
        scan(call.tokens.clone(), &mut paths, &mut Vec::new());
        self.uses.extend(paths.into_iter().map(|loose| Use { segments: loose.segments, line: loose.line }));
    }
}
