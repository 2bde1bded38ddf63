//! What is a formula worth at a point?

use super::value::Value;
use super::{Function, Node, Operation};

/// Nodes that are visited for one value, loops included.
const MAX_STEPS: usize = 50_000;

/// Factorials beyond this are no float.
const MAX_FACTORIAL: i128 = 170;

/// The value at a point, where the formula is defined there and not too large.
pub(super) fn evaluate(node: &Node, bindings: &[(&str, Value)]) -> Option<Value> {
    let mut evaluation = Evaluation { bindings: bindings.to_vec(), steps: 0 };
    evaluation.value(node)
}

struct Evaluation<'a> {
    bindings: Vec<(&'a str, Value)>,
    steps: usize,
}

impl<'a> Evaluation<'a> {
    fn value(&mut self, node: &'a Node) -> Option<Value> {
        self.steps += 1;
        if self.steps > MAX_STEPS {
            return None;
        }
        match node {
            Node::Number(value) => Some(*value),
            Node::Variable(name) => {
                self.bindings.iter().rev().find(|(bound, _)| bound == name).map(|(_, value)| *value)
            }
            Node::Negate(inner) => self.value(inner).map(Value::negate),
            Node::Binary(operation, first, second) => {
                let (first, second) = (self.value(first)?, self.value(second)?);
                apply(*operation, first, second)
            }
            Node::Call(function, arguments) => {
                let mut values = Vec::with_capacity(arguments.len());
                for argument in arguments {
                    values.push(self.value(argument)?);
                }
                call(*function, &values)
            }
            Node::Series { operation, variable, from, to, body } => {
                let (from, to) = (self.value(from)?.as_integer()?, self.value(to)?.as_integer()?);
                let mut total = Value::integer(i128::from(*operation == Operation::Multiply));
                for index in from..=to {
                    self.bindings.push((variable, Value::integer(index)));
                    let term = self.value(body);
                    self.bindings.pop();
                    total = apply(*operation, total, term?)?;
                }
                Some(total)
            }
        }
    }
}

fn apply(operation: Operation, first: Value, second: Value) -> Option<Value> {
    match operation {
        Operation::Add => first.add(second),
        Operation::Subtract => first.add(second.negate()),
        Operation::Multiply => first.multiply(second),
        Operation::Divide => first.divide(second),
        Operation::Power => first.power(second),
    }
}

fn call(function: Function, values: &[Value]) -> Option<Value> {
    let first = *values.first()?;
    let float = first.as_f64();
    match function {
        Function::SquareRoot => first.square_root(),
        Function::CubeRoot => Value::float(float.cbrt()),
        Function::Exponential => Value::float(float.exp()),
        Function::Logarithm => {
            let base = values.get(1).map_or(1.0, |base| base.as_f64().ln());
            Value::float(float.ln() / base)
        }
        Function::Sine => Value::float(float.sin()),
        Function::Cosine => Value::float(float.cos()),
        Function::Tangent => Value::float(float.tan()),
        Function::ArcSine => Value::float(float.asin()),
        Function::ArcCosine => Value::float(float.acos()),
        Function::ArcTangent => Value::float(float.atan()),
        Function::HyperbolicSine => Value::float(float.sinh()),
        Function::HyperbolicCosine => Value::float(float.cosh()),
        Function::HyperbolicTangent => Value::float(float.tanh()),
        Function::Absolute => Some(first.absolute()),
        Function::Floor => first.floor(),
        Function::Ceiling => first.negate().floor().map(Value::negate),
        Function::Factorial => product_down(first.as_integer()?, 1),
        Function::DoubleFactorial => product_down(first.as_integer()?, 2),
        Function::Binomial => binomial(first.as_integer()?, values.get(1)?.as_integer()?),
        Function::Harmonic => {
            let to = first.as_integer().filter(|to| (0..=MAX_FACTORIAL).contains(to))?;
            (1..=to).try_fold(Value::integer(0), |sum, index| sum.add(Value::ratio(1, index)?))
        }
    }
}

/// n (n - step) (n - 2 step) …, down to one or two.
fn product_down(number: i128, step: usize) -> Option<Value> {
    if !(0..=MAX_FACTORIAL).contains(&number) {
        return None;
    }
    let factors = (1..=number).rev().step_by(step);
    factors.map(Value::integer).try_fold(Value::integer(1), Value::multiply)
}

fn binomial(from: i128, chosen: i128) -> Option<Value> {
    if !(0..=MAX_FACTORIAL).contains(&from) {
        return None;
    }
    if chosen < 0 || chosen > from {
        return Some(Value::integer(0));
    }
    (1..=chosen.min(from - chosen)).try_fold(Value::integer(1), |product, index| {
        product.multiply(Value::integer(from - index + 1))?.divide(Value::integer(index))
    })
}
