//! Quantiles of the normal and of Student's distribution.
//!
//! The normal one by Wichura's rational approximations (AS 241, about 1e-15 relative); Student's by
//! bisection of its distribution function, an incomplete beta function by Lentz's continued fraction.

/// Steps of a continued fraction at most; it converges in some tens.
const STEPS: usize = 500;

/// The quantile of the standard normal distribution.
pub fn normal(share: f64) -> f64 {
    let q = share - 0.5;
    if q.abs() <= 0.425 {
        let r = 0.180625 - q * q;
        return q * ratio(&NEAR, r);
    }
    let tail = share.min(1.0 - share);
    if tail <= 0.0 {
        return f64::INFINITY.copysign(q);
    }
    let r = (-tail.ln()).sqrt();
    let far = if r <= 5.0 { ratio(&MIDDLE, r - 1.6) } else { ratio(&FAR, r - 5.0) };
    far.copysign(q)
}

/// The quantile of Student's distribution.
pub fn student(share: f64, freedom: f64) -> f64 {
    if share == 0.5 || freedom.is_nan() || freedom <= 0.0 {
        return if share == 0.5 { 0.0 } else { f64::NAN };
    }
    // P(T > t) = I_x(ν/2, 1/2)/2 with x = ν/(ν + t²).
    let tail = share.min(1.0 - share);
    let above = |t: f64| 0.5 * beta(0.5 * freedom, 0.5, freedom / (freedom + t * t));
    let (mut low, mut high) = (0.0, 2.0 * normal(1.0 - tail).max(1.0));
    while above(high) > tail && high < 1e300 {
        (low, high) = (high, 4.0 * high);
    }
    while high - low > 1e-14 * high {
        let middle = 0.5 * (low + high);
        if middle == low || middle == high {
            break;
        }
        if above(middle) > tail { low = middle } else { high = middle }
    }
    high.copysign(share - 0.5)
}

/// Two polynomials of one degree, the lowest power first: their quotient.
fn ratio(of: &[[f64; 8]; 2], x: f64) -> f64 {
    let at = |p: &[f64; 8]| p.iter().rev().fold(0.0, |sum, c| sum * x + c);
    at(&of[0]) / at(&of[1])
}

/// The regularised incomplete beta function.
fn beta(a: f64, b: f64, x: f64) -> f64 {
    if x <= 0.0 || x >= 1.0 {
        return x.clamp(0.0, 1.0);
    }
    let front =
        (log_gamma(a + b) - log_gamma(a) - log_gamma(b) + a * x.ln() + b * (-x).ln_1p()).exp();
    if x < (a + 1.0) / (a + b + 2.0) {
        front * fraction(a, b, x) / a
    } else {
        1.0 - front * fraction(b, a, 1.0 - x) / b
    }
}

fn fraction(a: f64, b: f64, x: f64) -> f64 {
    const TINY: f64 = 1e-300;
    let safe = |v: f64| if v.abs() < TINY { TINY } else { v };
    let mut d = 1.0 / safe(1.0 - (a + b) * x / (a + 1.0));
    let (mut c, mut product) = (1.0, d);
    for m in 1..STEPS {
        let m = m as f64;
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        let before = product;
        for term in [even, odd] {
            d = 1.0 / safe(1.0 + term * d);
            c = safe(1.0 + term / c);
            product *= c * d;
        }
        if (product / before - 1.0).abs() < 1e-16 {
            break;
        }
    }
    product
}

/// By Lanczos' series.
fn log_gamma(x: f64) -> f64 {
    const SERIES: [f64; 8] = [
        676.520_368_121_885_1,
        -1_259.139_216_722_402_8,
        771.323_428_777_653_1,
        -176.615_029_162_140_6,
        12.507_343_278_686_905,
        -0.138_571_095_265_720_12,
        9.984_369_578_019_572e-6,
        1.505_632_735_149_311_6e-7,
    ];
    if x < 0.5 {
        // Reflected; never needed for halves and wholes above 0, but right.
        let pi = std::f64::consts::PI;
        return (pi / (pi * x).sin().abs()).ln() - log_gamma(1.0 - x);
    }
    let x = x - 1.0;
    let each = SERIES.iter().enumerate().map(|(k, c)| c / (x + k as f64 + 1.0));
    let sum = 0.999_999_999_999_809_9 + each.sum::<f64>();
    let t = x + 7.5;
    0.5 * std::f64::consts::TAU.ln() + (x + 0.5) * t.ln() - t + sum.ln()
}

const NEAR: [[f64; 8]; 2] = [
    [
        3.387_132_872_796_366_6,
        1.331_416_678_917_843_8e2,
        1.971_590_950_306_551_4e3,
        1.373_169_376_550_946e4,
        4.592_195_393_154_987e4,
        6.726_577_092_700_87e4,
        3.343_057_558_358_813e4,
        2.509_080_928_730_122_7e3,
    ],
    [
        1.0,
        4.231_333_070_160_091e1,
        6.871_870_074_920_579e2,
        5.394_196_021_424_751e3,
        2.121_379_430_158_659_7e4,
        3.930_789_580_009_271e4,
        2.872_908_573_572_194_3e4,
        5.226_495_278_852_545e3,
    ],
];
const MIDDLE: [[f64; 8]; 2] = [
    [
        1.423_437_110_749_683_5,
        4.630_337_846_156_546,
        5.769_497_221_460_691,
        3.647_848_324_763_204_5,
        1.270_458_252_452_368_4,
        2.417_807_251_774_506e-1,
        2.272_384_498_926_918_4e-2,
        7.745_450_142_783_414e-4,
    ],
    [
        1.0,
        2.053_191_626_637_759,
        1.676_384_830_183_803_8,
        6.897_673_349_851e-1,
        1.481_039_764_274_800_8e-1,
        1.519_866_656_361_645_7e-2,
        5.475_938_084_995_345e-4,
        1.050_750_071_644_416_9e-9,
    ],
];
const FAR: [[f64; 8]; 2] = [
    [
        6.657_904_643_501_103,
        5.463_784_911_164_114,
        1.784_826_539_917_291_3,
        2.965_605_718_285_048_7e-1,
        2.653_218_952_657_612_4e-2,
        1.242_660_947_388_078_4e-3,
        2.711_555_568_743_487_6e-5,
        2.010_334_399_292_288_1e-7,
    ],
    [
        1.0,
        5.998_322_065_558_88e-1,
        1.369_298_809_227_358e-1,
        1.487_536_129_085_061_5e-2,
        7.868_691_311_456_133e-4,
        1.846_318_317_510_054_8e-5,
        1.421_511_758_316_446e-7,
        2.044_263_103_389_939_8e-15,
    ],
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_quantiles() {
        assert!((normal(0.975) - 1.959_963_984_540_054).abs() < 1e-14);
        assert!((normal(0.95) - 1.644_853_626_951_472_7).abs() < 1e-14);
        assert!((normal(1e-9) + 5.997_807_015_007_687).abs() < 1e-12);
        assert_eq!(normal(0.5), 0.0);
        // Tables of Student's distribution.
        for (freedom, expected) in
            [(1.0, 12.706_204_736), (2.0, 4.302_652_73), (29.0, 2.045_229_642)]
        {
            let found = student(0.975, freedom);
            assert!((found - expected).abs() < 1e-8, "{freedom}: {found}");
            assert_eq!(student(0.025, freedom), -found);
        }
        assert!((student(0.975, 1e7) - normal(0.975)).abs() < 1e-6);
    }
}
