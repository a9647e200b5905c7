//! `#[derive(Module)]`: the walk over the fields of a network.
//!
//! It is written for every field, so that a field of a type that cannot be walked is an error of the
//! compiler rather than a weight that nobody trains.
//!
//! | attribute of a field | what it does |
//! |---|---|
//! | `#[module(skip)]` | the field is no part of the module |
//! | `#[module(name = "0")]` | the field has another name in paths |
//! | `#[module(flatten)]` | the field has no name in paths: what is in it stands beside it |
//!
//! On the struct itself, `#[module(crate = path)]` says where `allotrope::nn` is.
#![forbid(unsafe_code)]

use proc_macro::TokenStream;
use proc_macro2::TokenStream as Tokens;
use quote::{format_ident, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{
    Data, DeriveInput, Error, Field, Fields, Ident, LitStr, Path, parse_macro_input, parse_quote,
};

/// Makes a struct or an enum a module: its parameters and buffers are found by the names of its fields.
#[proc_macro_derive(Module, attributes(module))]
pub fn derive_module(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    match implement(input) {
        Ok(tokens) => tokens.into(),
        Err(error) => error.to_compile_error().into(),
    }
}

fn implement(mut input: DeriveInput) -> Result<Tokens, Error> {
    let library = library(&input)?;
    let walk = match &input.data {
        Data::Struct(data) => {
            let visits = visits(&data.fields, &library, |place, field| match &field.ident {
                Some(name) => quote!(&self.#name),
                None => {
                    let index = syn::Index::from(place);
                    quote!(&self.#index)
                }
            })?;
            quote!(#(#visits)*)
        }
        Data::Enum(data) => {
            let mut arms = Vec::new();
            for variant in &data.variants {
                let name = &variant.ident;
                let bound = |place: usize| format_ident!("field_{place}");
                let visits = visits(&variant.fields, &library, |place, _| {
                    let bound = bound(place);
                    quote!(#bound)
                })?;
                let names = (0..variant.fields.len()).map(bound);
                let pattern = match &variant.fields {
                    Fields::Named(fields) => {
                        let fields = fields.named.iter().filter_map(|field| field.ident.as_ref());
                        quote!({ #(#fields: #names),* })
                    }
                    Fields::Unnamed(_) => quote!((#(#names),*)),
                    Fields::Unit => quote!(),
                };
                arms.push(quote! {
                    #[allow(unused_variables, reason = "skipped fields")]
                    Self::#name #pattern => { #(#visits)* }
                });
            }
            quote!(match self { #(#arms)* })
        }
        Data::Union(data) => {
            let what = "a union has no fields to walk; structs and enums are accepted";
            return Err(Error::new(data.union_token.span(), what));
        }
    };
    let parameters: Vec<Ident> = input
        .generics
        .type_params()
        .map(|p| p.ident.clone())
        .collect();
    let clause = input.generics.make_where_clause();
    for parameter in parameters {
        clause
            .predicates
            .push(parse_quote!(#parameter: #library::Visit));
    }
    let name = &input.ident;
    let (generics, arguments, clause) = input.generics.split_for_impl();
    Ok(quote! {
        #[automatically_derived]
        impl #generics #library::Visit for #name #arguments #clause {
            #[allow(unused_variables, reason = "a module without fields")]
            fn visit(&self, walk: &mut #library::Walk<'_>) { #walk }
        }

        #[automatically_derived]
        impl #generics #library::Module for #name #arguments #clause {}
    })
}

/// How the library is called where the macro is used: by the front door, by its own name in its own
/// tests, or as `#[module(crate = path)]` says.
fn library(input: &DeriveInput) -> Result<Tokens, Error> {
    let mut named = None;
    for attribute in input.attrs.iter().filter(|a| a.path().is_ident("module")) {
        attribute.parse_nested_meta(|meta| {
            if !meta.path.is_ident("crate") {
                return Err(meta.error("no such option; crate = path is accepted"));
            }
            named = Some(meta.value()?.parse::<Path>()?);
            Ok(())
        })?;
    }
    Ok(match (named, std::env::var("CARGO_PKG_NAME").as_deref()) {
        (Some(path), _) => quote!(#path),
        (None, Ok("allotrope-nn")) => quote!(::allotrope_nn),
        (None, _) => quote!(::allotrope::nn),
    })
}

/// A statement per field that is walked; `place` says how it is reached.
fn visits(
    fields: &Fields,
    library: &Tokens,
    place: impl Fn(usize, &Field) -> Tokens,
) -> Result<Vec<Tokens>, Error> {
    let mut visits = Vec::new();
    for (index, field) in fields.iter().enumerate() {
        let options = Options::read(field)?;
        if options.skip {
            continue;
        }
        let reached = place(index, field);
        // Errors point at the type of the field.
        let span = field.ty.span();
        visits.push(if options.flatten {
            quote_spanned!(span=> #library::Visit::visit(#reached, walk);)
        } else {
            let own = match &field.ident {
                Some(name) => name.to_string().trim_start_matches("r#").to_owned(),
                None => index.to_string(),
            };
            let name = options.name.unwrap_or(own);
            quote_spanned!(span=> walk.field(#name, #reached);)
        });
    }
    Ok(visits)
}

#[derive(Default)]
struct Options {
    skip: bool,
    flatten: bool,
    name: Option<String>,
}

impl Options {
    fn read(field: &Field) -> Result<Self, Error> {
        let mut options = Self::default();
        for attribute in &field.attrs {
            if !attribute.path().is_ident("module") {
                continue;
            }
            attribute.parse_nested_meta(|meta| {
                if meta.path.is_ident("skip") {
                    options.skip = true;
                } else if meta.path.is_ident("flatten") {
                    options.flatten = true;
                } else if meta.path.is_ident("name") {
                    options.name = Some(meta.value()?.parse::<LitStr>()?.value());
                } else if meta.path.is_ident("buffer") {
                    let what = "a buffer is a field of the type Buffer, which keeps its dtype with \
                                Buffer::keep_dtype; modules are moved and loaded behind a shared \
                                reference, and a Tensor never changes";
                    return Err(meta.error(what));
                } else {
                    let what = "no such option; skip, flatten and name = \"…\" are accepted";
                    return Err(meta.error(what));
                }
                Ok(())
            })?;
        }
        Ok(options)
    }
}
