//! Reads one parsed file into plain facts: which paths it names, which texts it holds, how long its functions are.
//!
//! A path is told with its imports undone (`env::var` after `use std::env` is `std::env::var`). What stands inside a
//! macro call is read as tokens, so that hiding a call in `select!` or `vec!` does not hide it from a wall.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use syn::spanned::Spanned;
use syn::visit::{self, Visit};

#[derive(Debug, Default)]
pub(crate) struct Reading {
    pub(crate) mentions: Vec<Mention>,
    pub(crate) strings: Vec<Text>,
    pub(crate) functions: Vec<Function>,
    /// Lines that belong to test-only items of an ordinary file.
    pub(crate) test_lines: usize,
}

#[derive(Debug)]
pub(crate) struct Mention {
    /// Segments joined by `::`; a macro ends in `!`, an import of everything in `::*`.
    pub(crate) path: String,
    pub(crate) line: usize,
    pub(crate) test: bool,
    /// The first argument, when it is called with a text.
    pub(crate) argument: Option<String>,
}

#[derive(Debug)]
pub(crate) struct Text {
    pub(crate) value: String,
    pub(crate) line: usize,
}

#[derive(Debug)]
pub(crate) struct Function {
    pub(crate) name: String,
    pub(crate) line: usize,
    pub(crate) lines: usize,
    pub(crate) test: bool,
}

impl Mention {
    /// Whether this names `wanted` or something inside it. `…::Type::method` matches at the end, whatever stands before.
    pub(crate) fn names(&self, wanted: &str) -> bool {
        if let Some(end) = wanted.strip_prefix("…::") {
            return self.path == end || self.path.ends_with(&format!("::{end}"));
        }
        let inside = |whole: &str, part: &str| whole == part || whole.starts_with(&format!("{part}::"));
        match self.path.strip_suffix("::*") {
            Some(open) => inside(open, wanted) || wanted.starts_with(&format!("{open}::")),
            None => inside(&self.path, wanted),
        }
    }
}

pub(crate) fn read(file: &syn::File, test: bool) -> Reading {
    let mut names = Names::default();
    names.visit_file(file);
    let mut reader =
        Reader { names, reading: Reading::default(), test: usize::from(test), owner: None, argument: None };
    if is_test_only(&file.attrs) {
        reader.test += 1;
    }
    reader.visit_file(file);
    reader.reading
}

/// `#[cfg(test)]`, `#[cfg(all(test, …))]`, `#[test]` or a test attribute of some runtime.
pub(crate) fn is_test_only(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| match &attribute.meta {
        syn::Meta::List(list) if list.path.is_ident("cfg") => {
            let condition = list.tokens.to_string();
            condition == "test"
                || (condition.starts_with("all") && condition.contains("test") && !condition.contains("not"))
        }
        meta => meta.path().segments.last().is_some_and(|segment| segment.ident == "test"),
    })
}

/// One leaf of a `use`: the path as written, the name it gets here.
pub(crate) struct Leaf {
    pub(crate) segments: Vec<String>,
    /// `None` for an import of everything.
    pub(crate) name: Option<String>,
    pub(crate) line: usize,
}

pub(crate) fn leaves(tree: &syn::UseTree) -> Vec<Leaf> {
    let mut found = Vec::new();
    flatten(tree, &mut Vec::new(), &mut found);
    found
}

fn flatten(tree: &syn::UseTree, before: &mut Vec<String>, found: &mut Vec<Leaf>) {
    let line = tree.span().start().line;
    let mut leaf = |last: &syn::Ident, name: String| {
        let mut segments = before.clone();
        if last != "self" {
            segments.push(last.to_string());
        }
        let name = if name == "self" { segments.last().cloned().unwrap_or_default() } else { name };
        found.push(Leaf { segments, name: Some(name), line });
    };
    match tree {
        syn::UseTree::Name(name) => leaf(&name.ident, name.ident.to_string()),
        syn::UseTree::Rename(rename) => leaf(&rename.ident, rename.rename.to_string()),
        syn::UseTree::Glob(_) => found.push(Leaf { segments: before.clone(), name: None, line }),
        syn::UseTree::Path(path) => {
            before.push(path.ident.to_string());
            flatten(&path.tree, before, found);
            before.pop();
        }
        syn::UseTree::Group(group) => group.items.iter().for_each(|tree| flatten(tree, before, found)),
    }
}

/// A path found among the tokens of a macro call.
pub(crate) struct Loose {
    pub(crate) segments: Vec<String>,
    pub(crate) line: usize,
    pub(crate) argument: Option<String>,
    pub(crate) is_macro: bool,
}

/// Every path and every text among tokens.
pub(crate) fn scan(tokens: TokenStream, paths: &mut Vec<Loose>, texts: &mut Vec<Text>) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let is = |index: usize, sign: char| matches!(tokens.get(index), Some(TokenTree::Punct(p)) if p.as_char() == sign);
    let mut index = 0;
    while let Some(token) = tokens.get(index) {
        match token {
            TokenTree::Ident(ident) => {
                let field = index > 0 && is(index - 1, '.') && !(index > 1 && is(index - 2, '.'));
                let line = ident.span().start().line;
                let mut segments = vec![ident.to_string()];
                while is(index + 1, ':')
                    && is(index + 2, ':')
                    && let Some(TokenTree::Ident(next)) = tokens.get(index + 3)
                {
                    segments.push(next.to_string());
                    index += 3;
                }
                let is_macro = is(index + 1, '!') && matches!(tokens.get(index + 2), Some(TokenTree::Group(_)));
                let argument = first_text(tokens.get(index + 1 + usize::from(is_macro)));
                if !field {
                    paths.push(Loose { segments, line, argument, is_macro });
                }
            }
            TokenTree::Group(group) => scan(group.stream(), paths, texts),
            TokenTree::Literal(literal) => {
                if let Ok(text) = syn::parse_str::<syn::LitStr>(&literal.to_string()) {
                    texts.push(Text { value: text.value(), line: literal.span().start().line });
                }
            }
            TokenTree::Punct(_) => {}
        }
        index += 1;
    }
}

fn first_text(token: Option<&TokenTree>) -> Option<String> {
    let Some(TokenTree::Group(group)) = token else { return None };
    if group.delimiter() != Delimiter::Parenthesis {
        return None;
    }
    let first = group.stream().into_iter().next()?;
    syn::parse_str::<syn::LitStr>(&first.to_string()).ok().map(|text| text.value())
}

/// First pass: what the names of this file stand for.
#[derive(Default)]
struct Names {
    imports: BTreeMap<String, Vec<String>>,
    modules: BTreeSet<String>,
}

impl<'ast> Visit<'ast> for Names {
    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        for leaf in leaves(&item.tree) {
            if let Some(name) = leaf.name {
                self.imports.insert(name, leaf.segments);
            }
        }
    }

    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        self.modules.insert(item.ident.to_string());
        visit::visit_item_mod(self, item);
    }
}

impl Names {
    fn resolve(&self, mut segments: Vec<String>) -> String {
        for _ in 0..4 {
            match segments.first().and_then(|first| self.imports.get(first)) {
                Some(target) if target.first() != segments.first() => {
                    segments = target.iter().chain(&segments[1..]).cloned().collect();
                }
                Some(target) if target.len() > 1 && segments.len() == 1 => segments = target.clone(),
                _ => break,
            }
        }
        if segments.first().is_some_and(|first| self.modules.contains(first) && !self.imports.contains_key(first)) {
            segments.insert(0, "self".to_owned());
        }
        segments.join("::")
    }
}

struct Reader {
    names: Names,
    reading: Reading,
    /// How many test-only things we stand in.
    test: usize,
    /// The type whose `impl` we stand in.
    owner: Option<String>,
    argument: Option<String>,
}

impl Reader {
    fn mention(&mut self, path: String, line: usize, argument: Option<String>) {
        self.reading.mentions.push(Mention { path, line, test: self.test > 0, argument });
    }

    fn scan(&mut self, tokens: TokenStream) {
        let mut paths = Vec::new();
        scan(tokens, &mut paths, &mut self.reading.strings);
        for loose in paths {
            let mut path = self.names.resolve(loose.segments);
            if loose.is_macro {
                path.push('!');
            }
            self.mention(path, loose.line, loose.argument);
        }
    }

    fn function(&mut self, signature: &syn::Signature, end: proc_macro2::Span) {
        let line = signature.span().start().line;
        let name = match &self.owner {
            Some(owner) => format!("{owner}::{}", signature.ident),
            None => signature.ident.to_string(),
        };
        let lines = end.end().line + 1 - line;
        self.reading.functions.push(Function { name, line, lines, test: self.test > 0 });
    }

    fn inside(&mut self, attributes: &[syn::Attribute], whole: proc_macro2::Span, walk: impl FnOnce(&mut Self)) {
        let test = is_test_only(attributes);
        if test && self.test == 0 {
            self.reading.test_lines += whole.end().line + 1 - whole.start().line;
        }
        self.test += usize::from(test);
        walk(self);
        self.test -= usize::from(test);
    }
}

impl<'ast> Visit<'ast> for Reader {
    fn visit_item(&mut self, item: &'ast syn::Item) {
        let attributes = attributes_of(item);
        self.inside(attributes, item.span(), |reader| visit::visit_item(reader, item));
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.inside(&item.attrs, item.span(), |reader| {
            reader.function(&item.sig, item.block.span());
            visit::visit_impl_item_fn(reader, item);
        });
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        if let Some(block) = &item.default {
            self.function(&item.sig, block.span());
        }
        visit::visit_trait_item_fn(self, item);
    }

    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.function(&item.sig, item.block.span());
        visit::visit_item_fn(self, item);
    }

    fn visit_item_impl(&mut self, item: &'ast syn::ItemImpl) {
        let owner = match &*item.self_ty {
            syn::Type::Path(path) => path.path.segments.last().map(|segment| segment.ident.to_string()),
            _ => None,
        };
        let before = std::mem::replace(&mut self.owner, owner);
        visit::visit_item_impl(self, item);
        self.owner = before;
    }

    fn visit_item_trait(&mut self, item: &'ast syn::ItemTrait) {
        let before = self.owner.replace(item.ident.to_string());
        visit::visit_item_trait(self, item);
        self.owner = before;
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        for leaf in leaves(&item.tree) {
            let mut path = match item.leading_colon {
                Some(_) => leaf.segments.join("::"),
                None => self.names.resolve(leaf.segments),
            };
            if leaf.name.is_none() {
                path.push_str("::*");
            }
            self.mention(path, leaf.line, None);
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let segments: Vec<String> = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        let name = if path.leading_colon.is_some() { segments.join("::") } else { self.names.resolve(segments) };
        let argument = self.argument.take();
        self.mention(name, path.span().start().line, argument);
        visit::visit_path(self, path);
    }

    fn visit_expr_call(&mut self, call: &'ast syn::ExprCall) {
        if let (syn::Expr::Path(_), Some(syn::Expr::Lit(first))) = (&*call.func, call.args.first())
            && let syn::Lit::Str(text) = &first.lit
        {
            self.argument = Some(text.value());
        }
        visit::visit_expr_call(self, call);
    }

    /// `UNIX_EPOCH.elapsed()` asks the clock as `SystemTime::now()` does.
    fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
        if let syn::Expr::Path(receiver) = &*call.receiver
            && receiver.path.segments.last().is_some_and(|segment| segment.ident == "UNIX_EPOCH")
            && call.method == "elapsed"
        {
            self.mention("std::time::SystemTime::now".to_owned(), call.span().start().line, None);
        }
        visit::visit_expr_method_call(self, call);
    }

    fn visit_lit_str(&mut self, text: &'ast syn::LitStr) {
        self.reading.strings.push(Text { value: text.value(), line: text.span().start().line });
    }

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        let segments = call.path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        let path = format!("{}!", self.names.resolve(segments));
        let first = call.tokens.clone().into_iter().next().map(|token| token.to_string()).unwrap_or_default();
        let argument = syn::parse_str::<syn::LitStr>(&first).ok().map(|text| text.value());
        self.mention(path, call.path.span().start().line, argument);
        self.scan(call.tokens.clone());
    }

    fn visit_attribute(&mut self, attribute: &'ast syn::Attribute) {
        if attribute.path().is_ident("doc") {
            return;
        }
        self.visit_path(attribute.path());
        if let syn::Meta::List(list) = &attribute.meta {
            self.scan(list.tokens.clone());
        }
    }
}

fn attributes_of(item: &syn::Item) -> &[syn::Attribute] {
    match item {
        syn::Item::Const(item) => &item.attrs,
        syn::Item::Enum(item) => &item.attrs,
        syn::Item::Fn(item) => &item.attrs,
        syn::Item::Impl(item) => &item.attrs,
        syn::Item::Macro(item) => &item.attrs,
        syn::Item::Mod(item) => &item.attrs,
        syn::Item::Static(item) => &item.attrs,
        syn::Item::Struct(item) => &item.attrs,
        syn::Item::Trait(item) => &item.attrs,
        syn::Item::Type(item) => &item.attrs,
        syn::Item::Use(item) => &item.attrs,
        _ => &[],
    }
}
