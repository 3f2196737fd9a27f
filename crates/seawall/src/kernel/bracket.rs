//! Closing in on the radius: two points of a concave curve and the lines that support it.
//!
//! The value against the radius, `V(ε) = min_{λ≥0} ελ + g₀(λ)`, is concave and increasing. An
//! evaluation at a price λ yields a [`Vertex`]: a population that spends `cost` and reaches
//! `value`, and the line of slope λ through that point, which lies above the whole curve. Two
//! vertices on either side of ε give
//!
//! - a lower bound at ε: the chord between them (the mixture of the two populations),
//! - an upper bound at ε: the lower of their two lines.
//!
//! Both hold at every moment, whatever chose the prices.

use super::order::Price;

/// What one evaluation shows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Vertex {
    /// The price λ it was evaluated at.
    pub price: Price,
    /// How much of the radius its population spends.
    pub cost: f64,
    /// The value its population reaches.
    pub value: f64,
    /// By how much the line may be higher than through this point: what inner maxima left open.
    pub excess: f64,
}

impl Vertex {
    /// What an evaluation whose maxima are exact shows.
    pub fn new(price: Price, cost: f64, value: f64) -> Self {
        Vertex { price, cost, value, excess: 0.0 }
    }

    /// The height at `radius` of the line of this vertex: an upper bound there.
    pub fn line(&self, radius: f64) -> f64 {
        match self.price {
            // A vertical line bounds nothing but its own foot.
            Price::Infinite if radius == self.cost => self.value + self.excess,
            Price::Infinite => f64::INFINITY,
            price => self.value + self.excess + price.get() * (radius - self.cost),
        }
    }
}

/// Two vertices with the radius between them: `right.cost ≤ ε ≤ left.cost`.
///
/// Named for their prices: the left one's is lower, so it spends more.
#[derive(Clone, Copy, Debug)]
pub struct Bracket {
    /// The lower price, the larger cost.
    pub left: Vertex,
    /// The higher price, the smaller cost.
    pub right: Vertex,
    /// The radius ε.
    pub radius: f64,
    /// The least line seen at ε, and the price it was seen at.
    pub upper: (f64, Price),
}

impl Bracket {
    /// A bracket from two vertices on either side of `radius`.
    pub fn new(left: Vertex, right: Vertex, radius: f64) -> Self {
        let mut bracket = Bracket { left, right, radius, upper: (f64::INFINITY, right.price) };
        bracket.lower_line(right);
        bracket.lower_line(left);
        bracket
    }

    /// The height of the chord at ε: a lower bound.
    pub fn lower(&self) -> f64 {
        let (l, u) = (&self.left, &self.right);
        if l.cost <= u.cost {
            return l.value.max(u.value);
        }
        u.value + (l.value - u.value) * ((self.radius - u.cost) / (l.cost - u.cost))
    }

    /// The slope of the chord, held between the prices of the two ends.
    pub fn slope(&self) -> f64 {
        let slope = (self.left.value - self.right.value) / (self.left.cost - self.right.cost);
        slope.max(self.left.price.get()).min(self.right.price.get())
    }

    /// The slope of the chord: where the exact engine evaluates next. None when the two ends
    /// are too close for a price strictly between theirs.
    pub fn crossing(&self) -> Option<f64> {
        let slope = self.slope();
        self.inside(slope).then_some(slope)
    }

    /// Whether a price lies strictly between those of the two ends.
    pub fn inside(&self, price: f64) -> bool {
        price.is_finite() && price > self.left.price.get() && price < self.right.price.get()
    }

    /// Takes in a vertex: it replaces one of the ends.
    pub fn insert(&mut self, vertex: Vertex) {
        self.lower_line(vertex);
        if vertex.cost > self.radius {
            self.left = vertex;
        } else {
            self.right = vertex;
        }
    }

    /// The distance between the bounds.
    pub fn gap(&self) -> f64 {
        self.upper.0 - self.lower()
    }

    /// Takes in a vertex's line alone.
    pub fn lower_line(&mut self, vertex: Vertex) {
        let height = vertex.line(self.radius);
        if height < self.upper.0 {
            self.upper = (height, vertex.price);
        }
    }
}

/// How far above the chord between two vertices the curve can still be: the height, over the
/// chord, of the point where their lines cross.
pub fn uncertainty(left: &Vertex, right: &Vertex) -> f64 {
    let width = left.cost - right.cost;
    if width <= 0.0 {
        return 0.0;
    }
    let chord = (left.value - right.value) / width;
    let (low, high) = (left.price.get(), right.price.get());
    // Over the right end the left line is this much above it, and the other way round.
    let above_right = (chord - low) * width;
    let above_left = (high - chord) * width;
    if above_right <= 0.0 || above_left <= 0.0 {
        0.0
    } else if high.is_infinite() {
        above_right
    } else {
        above_right * (above_left / (above_left + above_right))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vertex(price: f64, cost: f64, value: f64) -> Vertex {
        Vertex::new(Price::At(price), cost, value)
    }

    #[test]
    fn the_square_root_is_bracketed_at_every_step() {
        // V(ε) = 2√ε: at price λ the vertex is at ε = 1/λ².
        let at = |p: f64| vertex(p, 1.0 / (p * p), 2.0 / p);
        let mut bracket = Bracket::new(at(0.1), at(10.0), 0.3);
        let truth = 2.0 * 0.3f64.sqrt();
        for _ in 0..40 {
            assert!(bracket.lower() <= truth + 1e-12 && truth <= bracket.upper.0 + 1e-12);
            let Some(price) = bracket.crossing() else { break };
            bracket.insert(at(price));
        }
        assert!(bracket.gap() < 1e-9, "{}", bracket.gap());
    }

    #[test]
    fn uncertainty_is_the_triangle_above_the_chord() {
        // Lines 1 + 0(ε − 1) and 0 + 2ε cross at ε = 1/2, height 1; the chord is at 1/2 there.
        let found = uncertainty(&vertex(0.0, 1.0, 1.0), &vertex(2.0, 0.0, 0.0));
        assert!((found - 0.5).abs() < 1e-15, "{found}");
    }
}
