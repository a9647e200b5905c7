//! The text of recorded functions.

use std::collections::BTreeSet;

use super::arena::{Node, Statement};
use super::function::Function;
use super::helper::Helper;
use super::operation::{Form, Operation};
use super::scalar::{Literal, Type};
use super::wide::{PAIRS, WideIntegers};

/// The constant that says whether a device's own conversions of float16 are used. A text has it where
/// it converts some, false until a pipeline says otherwise.
pub const NATIVE_FLOAT16: &str = "native_float16";

/// The names of the first arguments, and of the components of a vector.
const NAMES: [&str; 4] = ["x", "y", "z", "w"];

fn argument_name(index: usize) -> String {
    let name = NAMES.get(index).copied();
    name.map_or_else(|| format!("x{index}"), str::to_owned)
}

/// The text of several functions with their names, after that of the helpers which they call.
pub fn print_module<'a>(functions: impl IntoIterator<Item = (&'a str, &'a Function)>) -> String {
    print_module_with(WideIntegers::Native, functions)
}

/// [`print_module`] for a device that has integers of 64 bits in this way. The text of [`PAIRS`]
/// stands before all, if there are any.
pub fn print_module_with<'a>(
    integers: WideIntegers,
    functions: impl IntoIterator<Item = (&'a str, &'a Function)>,
) -> String {
    let mut helpers = BTreeSet::new();
    let mut text = String::new();
    for (name, function) in functions {
        helpers.append(&mut function.helpers());
        text += &function.print_with(name, integers);
    }
    let pairs = match integers {
        WideIntegers::Native => "",
        WideIntegers::Pairs => PAIRS,
    };
    let is_codec = |helper: &Helper| helper.routine.codec().is_some();
    let choice = match helpers.iter().any(is_codec) {
        true => format!("override {NATIVE_FLOAT16}: bool = false;\n"),
        false => String::new(),
    };
    let is_called = |helper: &Helper| !integers.are_pairs(helper.kind);
    let helpers = helpers.into_iter().filter(is_called).map(Helper::text);
    let texts = [pairs.to_owned(), choice].into_iter().chain(helpers);
    texts.chain([text]).collect()
}

impl Function {
    /// What the text calls beside the functions of WGSL.
    pub fn helpers(&self) -> BTreeSet<Helper> {
        let used = self.statements.iter().zip(self.used());
        let helper = |(statement, used): (&Statement, bool)| match *statement {
            Statement::Result(op, kind, _) if used => match op.form(kind) {
                Form::Helper(routine) => Some(Helper { routine, kind }),
                _ => None,
            },
            _ => None,
        };
        used.filter_map(helper).collect()
    }

    /// The text of the function in WGSL, without that of its [`Self::helpers`].
    pub fn print(&self, name: &str) -> String {
        self.print_with(name, WideIntegers::Native)
    }

    /// [`Self::print`] for a device that has integers of 64 bits in this way.
    pub fn print_with(&self, name: &str, integers: WideIntegers) -> String {
        let arguments: Vec<String> = (self.arguments.iter().enumerate())
            .map(|(index, kind)| format!("{}: {}", argument_name(index), kind.name_with(integers)))
            .collect();
        let arguments = arguments.join(", ");
        let (result, structure) = self.result_type(name, integers);
        let mut text = format!("{structure}fn {name}({arguments}) -> {result} {{\n");
        let statements = self.statements.iter().zip(self.used());
        for (position, (&statement, _)) in statements.enumerate().filter(|(_, (_, used))| *used) {
            text += &self.statement_text(position, statement, integers);
        }
        let mut components = self
            .results
            .iter()
            .map(|&node| self.operand(node, integers));
        let outputs = self.outputs.iter().map(|kind| {
            let parts: Vec<String> = components.by_ref().take(kind.components as usize).collect();
            match kind.components {
                1 => parts.concat(),
                _ => format!("{}({})", kind.name(), parts.join(", ")),
            }
        });
        let outputs = outputs.collect::<Vec<String>>().join(", ");
        text += &match self.outputs.len() {
            1 => format!("    return {outputs};\n}}\n"),
            _ => format!("    return {result}({outputs});\n}}\n"),
        };
        text
    }

    /// The type that the function returns, and the text that declares it: a structure where there
    /// are several outputs.
    fn result_type(&self, name: &str, integers: WideIntegers) -> (String, String) {
        if let [output] = self.outputs[..] {
            return (output.name_with(integers), String::new());
        }
        let members = self.outputs.iter().enumerate();
        let members: String = members
            .map(|(i, kind)| format!("    r{i}: {},\n", kind.name_with(integers)))
            .collect();
        let result = format!("{name}_results");
        let structure = format!("struct {result} {{\n{members}}}\n");
        (result, structure)
    }

    /// The line of a value that has one, and its line break.
    fn statement_text(
        &self,
        position: usize,
        statement: Statement,
        integers: WideIntegers,
    ) -> String {
        match statement {
            Statement::Literal(literal) if !literal.is_plain() => {
                // What is read from a `let` is no constant expression, which must be finite.
                let (kind, bits) = (literal.kind, literal.to_unsigned());
                format!(
                    "    let bits{position}: {0} = {bits};\n    \
                     let v{position}: {kind} = bitcast<{kind}>(bits{position});\n",
                    bits.kind
                )
            }
            Statement::Literal(_) | Statement::Argument(..) => String::new(),
            Statement::Result(op, kind, operands) => {
                let value = self.operation(op, kind, operands, integers);
                let kind = integers.type_name(kind);
                format!("    let v{position}: {kind} = {value};\n")
            }
        }
    }

    /// The name of the scalar argument at this position.
    fn component_name(&self, position: u32) -> String {
        let mut first = 0;
        for (index, kind) in self.arguments.iter().enumerate() {
            let name = argument_name(index);
            if kind.components == 1 && position == first {
                return name;
            }
            if position < first + kind.components {
                return format!("{name}.{}", argument_name((position - first) as usize));
            }
            first += kind.components;
        }
        String::new()
    }

    /// The text of an operand.
    fn operand(&self, node: Node, integers: WideIntegers) -> String {
        match self.statement(node) {
            Some(Statement::Literal(literal)) if literal.is_plain() => integers.literal(literal),
            Some(Statement::Argument(position, _)) => self.component_name(position),
            _ => format!("v{}", node.0),
        }
    }

    /// The text of an operation.
    fn operation(
        &self,
        op: Operation,
        kind: Type,
        operands: [Node; 3],
        integers: WideIntegers,
    ) -> String {
        let first = self.statement(operands[0]);
        let operand_kind = first.map_or(kind, Statement::kind);
        let [a, b, c] = operands.map(|node| self.operand(node, integers));
        if let Some(text) = integers.operation(op, kind, operand_kind, [&a, &b, &c]) {
            return text;
        }
        match op.form(operand_kind) {
            Form::Infix(sign) => format!("{a} {sign} {b}"),
            Form::Prefix(sign) => format!("{sign}{a}"),
            Form::Call1(name) => format!("{name}({a})"),
            Form::Call2(name) => format!("{name}({a}, {b})"),
            Form::Call3(name) => format!("{name}({a}, {b}, {c})"),
            Form::Helper(routine) => {
                let name = Helper { routine, kind }.name();
                match routine.codec() {
                    Some(_) => format!("{name}({a})"),
                    None => format!("{name}({a}, {b})"),
                }
            }
            Form::Select => format!("select({c}, {b}, {a})"),
            Form::Bitcast => format!("bitcast<{kind}>({a})"),
            Form::Constructor => format!("{kind}({a})"),
            Form::Keep => {
                let bits = kind.unsigned();
                let most = match bits {
                    Type::U64 => u64::MAX - 1,
                    _ => u64::from(u32::MAX - 1),
                };
                let most = Literal {
                    kind: bits,
                    bits: most,
                };
                format!("bitcast<{kind}>(min(bitcast<{bits}>({a}), {most}))")
            }
        }
    }
}
