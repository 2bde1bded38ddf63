//! Along which directions does a symmetric matrix stretch, and how much?
//!
//! Householder's reduction to three diagonals, then implicit QL steps: the classic pair of EISPACK
//! (tred2, tql2), as in JAMA. Matrices here have a few hundred rows, so one thread is enough, and
//! its sums have one order.

/// Eigenvalues, largest first, and the eigenvectors: `vectors[row * n + place]`.
pub(super) fn symmetric(matrix: &[f64], n: usize) -> (Vec<f64>, Vec<f64>) {
    assert_eq!(matrix.len(), n * n, "a square matrix");
    if n == 0 {
        return (vec![], vec![]);
    }
    // Both steps work on columns; they are kept as rows here, which is how memory likes it.
    let mut v = matrix.to_vec();
    let (mut d, mut e) = (vec![0.0; n], vec![0.0; n]);
    tridiagonalise(&mut v, &mut d, &mut e, n);
    let mut q = vec![0.0; n * n];
    for row in 0..n {
        for column in 0..n {
            q[column * n + row] = v[row * n + column];
        }
    }
    diagonalise(&mut q, &mut d, &mut e, n);

    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|&a, &b| d[b].total_cmp(&d[a]).then(a.cmp(&b)));
    let mut vectors = vec![0.0; n * n];
    for (place, &from) in order.iter().enumerate() {
        for row in 0..n {
            vectors[row * n + place] = q[from * n + row];
        }
    }
    (order.iter().map(|&from| d[from]).collect(), vectors)
}

/// Makes `v` the rotation to three diagonals: `d` the middle one, `e` the one below it.
fn tridiagonalise(v: &mut [f64], d: &mut [f64], e: &mut [f64], n: usize) {
    d.copy_from_slice(&v[(n - 1) * n..]);
    for i in (1..n).rev() {
        let scale: f64 = d[..i].iter().map(|x| x.abs()).sum();
        let mut h = 0.0;
        if scale == 0.0 {
            e[i] = d[i - 1];
            for j in 0..i {
                d[j] = v[(i - 1) * n + j];
                v[i * n + j] = 0.0;
                v[j * n + i] = 0.0;
            }
        } else {
            for x in &mut d[..i] {
                *x /= scale;
                h += *x * *x;
            }
            let f = d[i - 1];
            let g = if f > 0.0 { -h.sqrt() } else { h.sqrt() };
            e[i] = scale * g;
            h -= f * g;
            d[i - 1] = f - g;
            e[..i].fill(0.0);
            for j in 0..i {
                v[j * n + i] = d[j];
            }
            // The matrix is symmetric and its lower half is kept: each row serves as a column too.
            for k in 0..i {
                let row = &v[k * n..k * n + k + 1];
                let mut g = row[k] * d[k];
                for j in 0..k {
                    g += row[j] * d[j];
                    e[j] += row[j] * d[k];
                }
                e[k] += g;
            }
            let mut f = 0.0;
            for j in 0..i {
                e[j] /= h;
                f += e[j] * d[j];
            }
            let hh = f / (h + h);
            for j in 0..i {
                e[j] -= hh * d[j];
            }
            for k in 0..i {
                let (ek, dk) = (e[k], d[k]);
                let row = &mut v[k * n..k * n + k + 1];
                for j in 0..=k {
                    row[j] -= d[j] * ek + e[j] * dk;
                }
            }
            for j in 0..i {
                d[j] = v[(i - 1) * n + j];
                v[i * n + j] = 0.0;
            }
        }
        d[i] = h;
    }
    accumulate(v, d, n);
    e[0] = 0.0;
}

/// Multiplies the reflections together.
fn accumulate(v: &mut [f64], d: &mut [f64], n: usize) {
    let mut sums = vec![0.0; n];
    for i in 0..n - 1 {
        v[(n - 1) * n + i] = v[i * n + i];
        v[i * n + i] = 1.0;
        let h = d[i + 1];
        if h != 0.0 {
            for k in 0..=i {
                d[k] = v[k * n + i + 1] / h;
            }
            sums[..=i].fill(0.0);
            for k in 0..=i {
                let factor = v[k * n + i + 1];
                for j in 0..=i {
                    sums[j] += factor * v[k * n + j];
                }
            }
            for k in 0..=i {
                for j in 0..=i {
                    v[k * n + j] -= sums[j] * d[k];
                }
            }
        }
        for k in 0..=i {
            v[k * n + i + 1] = 0.0;
        }
    }
    for j in 0..n {
        d[j] = v[(n - 1) * n + j];
        v[(n - 1) * n + j] = 0.0;
    }
    v[n * n - 1] = 1.0;
}

/// Rotates the three diagonals into one; `q` holds the eigenvectors as rows.
fn diagonalise(q: &mut [f64], d: &mut [f64], e: &mut [f64], n: usize) {
    e.copy_within(1.., 0);
    e[n - 1] = 0.0;
    let (mut shift, mut largest) = (0.0, 0.0_f64);
    for l in 0..n {
        largest = largest.max(d[l].abs() + e[l].abs());
        let m = (l..n).find(|&m| e[m].abs() <= f64::EPSILON * largest).unwrap_or(n - 1);
        if m > l {
            // It takes two or three steps an eigenvalue; the bound is for matrices of NaN.
            for _ in 0..64 {
                let g = d[l];
                let p = (d[l + 1] - g) / (2.0 * e[l]);
                let r = length(p, 1.0).copysign(if p < 0.0 { -1.0 } else { 1.0 });
                d[l] = e[l] / (p + r);
                d[l + 1] = e[l] * (p + r);
                let dl1 = d[l + 1];
                let h = g - d[l];
                d[l + 2..].iter_mut().for_each(|x| *x -= h);
                shift += h;

                let mut p = d[m];
                let (mut c, mut c2, mut c3) = (1.0, 1.0, 1.0);
                let el1 = e[l + 1];
                let (mut s, mut s2) = (0.0, 0.0);
                for i in (l..m).rev() {
                    (c3, c2, s2) = (c2, c, s);
                    let g = c * e[i];
                    let h = c * p;
                    let r = length(p, e[i]);
                    e[i + 1] = s * r;
                    s = e[i] / r;
                    c = p / r;
                    p = c * d[i] - s * g;
                    d[i + 1] = h + s * (c * g + s * d[i]);
                    let (low, high) = q.split_at_mut((i + 1) * n);
                    for (a, b) in low[i * n..].iter_mut().zip(&mut high[..n]) {
                        let h = *b;
                        *b = s * *a + c * h;
                        *a = c * *a - s * h;
                    }
                }
                p = -s * s2 * c3 * el1 * e[l] / dl1;
                e[l] = s * p;
                d[l] = c * p;
                if e[l].abs() <= f64::EPSILON * largest {
                    break;
                }
            }
        }
        d[l] += shift;
        e[l] = 0.0;
    }
}

/// Not `hypot`, which is the platform's own: a square root is the same everywhere.
fn length(x: f64, y: f64) -> f64 {
    (x * x + y * y).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_make_the_matrix() {
        for n in [1, 2, 3, 17, 40] {
            let at =
                |i: usize, j: usize| ((i * j) as f64 * 0.7).sin() + f64::from(u8::from(i == j));
            let matrix: Vec<f64> = (0..n * n).map(|k| at(k / n, k % n)).collect();
            let (values, vectors) = symmetric(&matrix, n);
            assert!(values.is_sorted_by(|a, b| a >= b));
            for i in 0..n {
                for j in 0..n {
                    let sum: f64 =
                        (0..n).map(|k| vectors[i * n + k] * values[k] * vectors[j * n + k]).sum();
                    assert!((sum - matrix[i * n + j]).abs() < 1e-9, "{n}: {i}, {j}");
                }
            }
        }
    }

    #[test]
    fn repeated_and_zero_values() {
        let (values, vectors) = symmetric(&[0.0; 9], 3);
        assert_eq!(values, [0.0; 3]);
        assert!(vectors.iter().all(|x| x.is_finite()));
        let (values, _) = symmetric(&[1.0; 16], 4);
        assert!((values[0] - 4.0).abs() < 1e-12 && values[3].abs() < 1e-12);
    }
}
