//! How is a number kept, exactly as long as it fits?

use std::cmp::Ordering;

/// Beyond this a fraction becomes a float, so that products of two never overflow unseen.
const MAX_EXACT: i128 = 10_i128.pow(30);

/// Relative error that floats may gather on the way.
const EPSILON: f64 = 1e-9;

/// The largest exponent that is multiplied out.
const MAX_EXPONENT: i128 = 2000;

/// A fraction in lowest terms with a positive denominator, or a float that is finite.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Value {
    Exact { numerator: i128, denominator: i128 },
    Float(f64),
}

impl Value {
    pub(crate) fn integer(number: i128) -> Self {
        Self::Exact { numerator: number, denominator: 1 }
    }

    pub(crate) fn ratio(numerator: i128, denominator: i128) -> Option<Self> {
        if denominator == 0 {
            return None;
        }
        let too_large = |number: i128| number.unsigned_abs() > MAX_EXACT.unsigned_abs();
        if too_large(numerator) || too_large(denominator) {
            return Self::float(numerator as f64 / denominator as f64);
        }
        let divisor = greatest_common_divisor(numerator, denominator) * denominator.signum();
        Some(Self::Exact { numerator: numerator / divisor, denominator: denominator / divisor })
    }

    pub(crate) fn float(number: f64) -> Option<Self> {
        number.is_finite().then_some(Self::Float(number))
    }

    pub(crate) fn as_f64(&self) -> f64 {
        match self {
            Self::Exact { numerator, denominator } => *numerator as f64 / *denominator as f64,
            Self::Float(number) => *number,
        }
    }

    /// The whole number that it is.
    pub(crate) fn as_integer(&self) -> Option<i128> {
        match self {
            Self::Exact { numerator, denominator: 1 } => Some(*numerator),
            _ => None,
        }
    }

    /// Exactly the same, or within rounding of floats.
    pub(crate) fn same_as(&self, other: &Self) -> bool {
        if let (Self::Exact { .. }, Self::Exact { .. }) = (self, other) {
            return self == other;
        }
        let (first, second) = (self.as_f64(), other.as_f64());
        (first - second).abs() <= EPSILON * first.abs().max(second.abs()).max(1.0)
    }

    pub(super) fn negate(self) -> Self {
        match self {
            Self::Exact { numerator, denominator } => {
                Self::Exact { numerator: -numerator, denominator }
            }
            Self::Float(number) => Self::Float(-number),
        }
    }

    pub(super) fn add(self, other: Self) -> Option<Self> {
        if let (
            Self::Exact { numerator: a, denominator: b },
            Self::Exact { numerator: c, denominator: d },
        ) = (self, other)
        {
            let sum =
                a.checked_mul(d).zip(c.checked_mul(b)).and_then(|(ad, cb)| ad.checked_add(cb));
            if let (Some(sum), Some(denominator)) = (sum, b.checked_mul(d)) {
                return Self::ratio(sum, denominator);
            }
        }
        Self::float(self.as_f64() + other.as_f64())
    }

    pub(super) fn multiply(self, other: Self) -> Option<Self> {
        if let (
            Self::Exact { numerator: a, denominator: b },
            Self::Exact { numerator: c, denominator: d },
        ) = (self, other)
            && let (Some(numerator), Some(denominator)) = (a.checked_mul(c), b.checked_mul(d))
        {
            return Self::ratio(numerator, denominator);
        }
        Self::float(self.as_f64() * other.as_f64())
    }

    pub(super) fn divide(self, other: Self) -> Option<Self> {
        match other {
            Self::Exact { numerator, denominator } => {
                self.multiply(Self::ratio(denominator, numerator)?)
            }
            Self::Float(number) => Self::float(self.as_f64() / number),
        }
    }

    pub(super) fn power(self, exponent: Self) -> Option<Self> {
        if let Some(times) = exponent.as_integer()
            && times.abs() <= MAX_EXPONENT
            && let Self::Exact { .. } = self
        {
            let mut product = Self::integer(1);
            let mut square = self;
            let mut left = times.unsigned_abs();
            while left > 0 {
                if left & 1 == 1 {
                    product = product.multiply(square)?;
                }
                left >>= 1;
                if left > 0 {
                    square = square.multiply(square)?;
                }
            }
            return if times < 0 { Self::integer(1).divide(product) } else { Some(product) };
        }
        if exponent.same_as(&Self::Exact { numerator: 1, denominator: 2 }) {
            return self.square_root();
        }
        Self::float(self.as_f64().powf(exponent.as_f64()))
    }

    pub(super) fn square_root(self) -> Option<Self> {
        if let Self::Exact { numerator, denominator } = self
            && let (Some(above), Some(below)) = (whole_root(numerator), whole_root(denominator))
        {
            return Self::ratio(above, below);
        }
        Self::float(self.as_f64().sqrt())
    }

    pub(super) fn absolute(self) -> Self {
        if self.as_f64() < 0.0 { self.negate() } else { self }
    }

    pub(super) fn floor(self) -> Option<Self> {
        match self {
            Self::Exact { numerator, denominator } => {
                Some(Self::integer(numerator.div_euclid(denominator)))
            }
            Self::Float(number) => Self::float(number.floor()),
        }
    }
}

/// By size; used where floats and fractions meet.
impl PartialOrd for Value {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        self.as_f64().partial_cmp(&other.as_f64())
    }
}

fn greatest_common_divisor(first: i128, second: i128) -> i128 {
    let (mut first, mut second) = (first.abs(), second.abs());
    while second != 0 {
        (first, second) = (second, first % second);
    }
    first.max(1)
}

/// The root of a square.
fn whole_root(square: i128) -> Option<i128> {
    if square < 0 {
        return None;
    }
    let root = (square as f64).sqrt().round() as i128;
    (root.checked_mul(root) == Some(square)).then_some(root)
}
