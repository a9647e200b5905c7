//! A small transformer that learns to write, one character after the other.
//!
//! `cargo run --release --example gpt -- [--steps 500] [--dtype float32|bfloat16|float16] [--data text]`

use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;

use allotrope::AttentionOptions;
use allotrope::prelude::*;
use nn::{Embedding, LayerNorm, Linear, LinearOptions, init};
use optim::{AdamW, AdamWOptions};

type Outcome<T> = std::result::Result<T, Box<dyn std::error::Error>>;

const SIZE: usize = 128;
const HEADS: usize = 4;
const LAYERS: usize = 3;
const CONTEXT: usize = 64;
const BATCH: usize = 16;

#[derive(Module)]
struct Attention {
    qkv: Linear,
    out: Linear,
}

impl Attention {
    fn new() -> Result<Self> {
        Ok(Self {
            qkv: Linear::new(SIZE, 3 * SIZE)?,
            out: Linear::new(SIZE, SIZE)?,
        })
    }
}

impl Layer for Attention {
    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        let heads = self
            .qkv
            .forward(x)?
            .unflatten(-1, &[3, HEADS as isize, -1])?;
        // [three, batch, heads, time, size]
        let heads = heads.permute(&[2, 0, 3, 1, 4])?;
        let (q, k, v) = (
            heads.select(0, 0)?,
            heads.select(0, 1)?,
            heads.select(0, 2)?,
        );
        let options = AttentionOptions {
            causal: true,
            ..AttentionOptions::default()
        };
        let y = q.scaled_dot_product_attention(&k, &v, options)?;
        self.out.forward(&y.transpose(1, 2)?.flatten(2, 3)?)
    }
}

#[derive(Module)]
struct Block {
    norm1: LayerNorm,
    attn: Attention,
    norm2: LayerNorm,
    up: Linear,
    down: Linear,
}

impl Block {
    fn new() -> Result<Self> {
        Ok(Self {
            norm1: LayerNorm::new(&[SIZE])?,
            attn: Attention::new()?,
            norm2: LayerNorm::new(&[SIZE])?,
            up: Linear::new(SIZE, 4 * SIZE)?,
            down: Linear::new(4 * SIZE, SIZE)?,
        })
    }
}

impl Layer for Block {
    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        let x = x.add(&self.attn.forward(&self.norm1.forward(x)?)?)?;
        let wide = self.up.forward(&self.norm2.forward(&x)?)?.gelu()?;
        x.add(&self.down.forward(&wide)?)
    }
}

#[derive(Module)]
struct Gpt {
    tokens: Embedding,
    places: Embedding,
    blocks: Vec<Block>,
    norm: LayerNorm,
    head: Linear,
}

impl Gpt {
    fn new(characters: usize) -> Result<Self> {
        let bias = false;
        let net = Self {
            tokens: Embedding::new(characters, SIZE)?,
            places: Embedding::new(CONTEXT, SIZE)?,
            blocks: (0..LAYERS).map(|_| Block::new()).collect::<Result<_>>()?,
            norm: LayerNorm::new(&[SIZE])?,
            head: Linear::with(
                SIZE,
                characters,
                LinearOptions {
                    bias,
                    ..LinearOptions::default()
                },
            )?,
        };
        for table in [&net.tokens, &net.places] {
            init::normal_(&table.weight, 0.0, 0.02, None)?;
        }
        Ok(net)
    }
}

/// What may follow each character, for rows of them.
impl Layer for Gpt {
    fn forward(&self, tokens: &Tensor) -> Result<Tensor> {
        let time = tokens.shape()[1] as i64;
        let places = self
            .places
            .forward(&Tensor::arange(0, time, 1, DType::I64)?)?;
        let mut x = self.tokens.forward(tokens)?.add(&places)?;
        for block in &self.blocks {
            x = block.forward(&x)?;
        }
        self.head.forward(&self.norm.forward(&x)?)
    }
}

/// So many characters that follow a text.
fn write(net: &Gpt, mut text: Vec<i64>, count: usize) -> Result<Vec<i64>> {
    let _off = no_grad();
    for _ in 0..count {
        let seen = &text[text.len().saturating_sub(CONTEXT)..];
        let tokens = Tensor::from_slice(seen, &[1, seen.len()])?;
        let last = net.forward(&tokens)?.select(1, -1)?.to(DType::F32)?;
        let shares = last.div(0.8)?.softmax(-1, None)?;
        text.push(shares.multinomial(1, false, None)?.to_scalar()?);
    }
    Ok(text)
}

fn main() -> Outcome<()> {
    let mut steps = 500_usize;
    let mut dtype = DType::F32;
    let mut data = PathBuf::from(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../examples/data/pride.txt"
    ));
    let mut arguments = std::env::args().skip(1);
    while let Some(name) = arguments.next() {
        let value = arguments.next().ok_or(format!("{name} needs a value"))?;
        match &*name {
            "--steps" => steps = value.parse()?,
            "--dtype" => dtype = value.parse()?,
            "--data" => data = value.into(),
            _ => {
                return Err(format!(
                    "unknown argument {name}; accepted are --steps, --dtype and --data"
                )
                .into());
            }
        }
    }
    let text = std::fs::read_to_string(&data)?;
    let mut numbers = BTreeMap::new();
    for character in text.chars() {
        numbers.insert(character, 0_i64);
    }
    for (number, (_, place)) in numbers.iter_mut().enumerate() {
        *place = number as i64;
    }
    let characters: Vec<char> = numbers.keys().copied().collect();
    let tokens: Vec<i64> = text.chars().map(|character| numbers[&character]).collect();
    if tokens.len() <= CONTEXT + 1 {
        return Err("the text is too short".into());
    }
    let tokens = Tensor::from_vec(tokens.clone(), &[tokens.len()])?;

    manual_seed(1);
    let net = Gpt::new(characters.len())?;
    println!(
        "{} characters, {} parameters",
        characters.len(),
        net.num_parameters()
    );
    let mut optimizer = AdamW::new(
        net.parameters(),
        AdamWOptions {
            lr: 1e-3,
            ..AdamWOptions::default()
        },
    )?;
    let starts = (tokens.count() - CONTEXT - 1) as i128;
    let mut smooth = None;
    for step in 1..=steps {
        let starts = Tensor::randint(0, starts, &[BATCH, 1], DType::I64, None)?;
        let places = starts.add(&Tensor::arange(0, CONTEXT as i64 + 1, 1, DType::I64)?)?;
        let rows = tokens.take(&places, None)?;
        let (x, y) = (rows.narrow(1, 0, CONTEXT)?, rows.narrow(1, 1, CONTEXT)?);
        optimizer.zero_grad()?;
        let loss = {
            let _cast = match dtype {
                DType::F32 | DType::F64 => None,
                lower => Some(amp::autocast(lower, true)?),
            };
            let shares = net.forward(&x)?.flatten(0, 1)?;
            shares.cross_entropy(&y.reshape(&[-1])?, None, -100, LossReduction::Mean, 0.0)?
        };
        loss.backward()?;
        optimizer.step()?;
        let now: f64 = loss.to(DType::F64)?.to_scalar()?;
        let mean = smooth.map_or(now, |before| 0.95 * before + 0.05 * now);
        smooth = Some(mean);
        print!("\rstep {step:5} of {steps}: loss {mean:.4}");
        std::io::stdout().flush()?;
    }
    let start = tokens.narrow(0, 0, 1)?.to_vec::<i64>()?;
    let written: String = write(&net, start, 300)?
        .into_iter()
        .map(|number| characters[number as usize])
        .collect();
    println!("\n\n{written}");
    Ok(())
}
