//! The one module with `unsafe`: runs a kernel with the widest vectors this machine has.
//!
//! The kernels are plain loops over fixed-width rows, which the compiler turns into vector
//! instructions. Built for a generic x86-64 that means two lanes; here the same loop is compiled
//! again for wider ones and chosen at run time. No kernel uses fused multiply-add, so every
//! version gives the same bits.
#![allow(unsafe_code)]

/// A loop worth compiling for several vector widths.
pub trait Kernel {
    /// Does the work. Mark it `#[inline(always)]`, or it is compiled once, for the narrowest.
    fn run(self);
}

/// Runs `kernel` with the widest vectors available.
#[inline]
pub fn run(kernel: impl Kernel) {
    #[cfg(target_arch = "x86_64")]
    {
        if std::arch::is_x86_feature_detected!("avx512f")
            && std::arch::is_x86_feature_detected!("avx512vl")
            && std::arch::is_x86_feature_detected!("avx512dq")
        {
            // SAFETY: the features that `wide` is compiled for were just detected.
            return unsafe { wide(kernel) };
        }
        if std::arch::is_x86_feature_detected!("avx2") {
            // SAFETY: the feature that `medium` is compiled for was just detected.
            return unsafe { medium(kernel) };
        }
    }
    kernel.run();
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512vl,avx512dq")]
fn wide(kernel: impl Kernel) {
    kernel.run();
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn medium(kernel: impl Kernel) {
    kernel.run();
}
