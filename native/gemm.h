// C (+)= A B for the sizes that small networks need.
//
// The right-hand matrix is taken in panels of one or two vectors, copied into contiguous memory
// where it does not lie so already (the copy also transposes). A tile of up to ROWS x 2 vectors
// of C stays in registers while the inner index runs.
#pragma once

#include <algorithm>

#include "vectors.h"

namespace ISA {

#if VECTOR_BYTES == 64
constexpr int ROWS = 12;
#elif VECTOR_BYTES == 32
constexpr int ROWS = 6;
#else
constexpr int ROWS = 4;
#endif

// Rows of a tile of NV vectors: with one, as many sums have to be under way for each unit that
// adds and multiplies to have work.
template <int NV>
constexpr int rows_of = NV == 1 && ROWS < 12 ? 2 * ROWS : ROWS;

// Inner indices that are taken at a time: a panel stays in cache.
constexpr std::ptrdiff_t INNER = 256;

// A matrix in memory: entry (i, j) is at data[i * row + j * column].
template <class T>
struct Matrix {
    const T* data;
    std::ptrdiff_t row, column;
};

template <class T>
constexpr std::ptrdiff_t pack_size = INNER * 2 * width<T>;

// What a product is added to: nothing, the rows of C itself, or one row for all (a bias, which
// must be readable up to a whole number of vectors).
template <class T>
struct Start {
    const T* data;
    std::ptrdiff_t row;
};

template <class T, int M, int NV>
inline void tile(std::ptrdiff_t inner, Matrix<T> a, const T* b, std::ptrdiff_t b_row, T* c,
                 std::ptrdiff_t c_row, Start<T> start) {
    constexpr int L = width<T>;
    Vec<T> sum[M][NV];
#pragma GCC unroll 16
    for (int i = 0; i < M; ++i)
#pragma GCC unroll 2
        for (int j = 0; j < NV; ++j)
            sum[i][j] = start.data ? load<T>(start.data + i * start.row + j * L) : Vec<T>{};
    for (std::ptrdiff_t k = 0; k < inner; ++k) {
        Vec<T> right[NV];
#pragma GCC unroll 2
        for (int j = 0; j < NV; ++j) right[j] = load<T>(b + k * b_row + j * L);
#pragma GCC unroll 16
        for (int i = 0; i < M; ++i) {
            const T left = a.data[i * a.row + k * a.column];
#pragma GCC unroll 2
            for (int j = 0; j < NV; ++j) sum[i][j] += left * right[j];
        }
    }
#pragma GCC unroll 16
    for (int i = 0; i < M; ++i)
#pragma GCC unroll 2
        for (int j = 0; j < NV; ++j) store<T>(c + i * c_row + j * L, sum[i][j]);
}

template <class T, int NV, int M = rows_of<NV>>
inline void tile_of(int m, std::ptrdiff_t inner, Matrix<T> a, const T* b, std::ptrdiff_t b_row,
                    T* c, std::ptrdiff_t c_row, Start<T> start) {
    if constexpr (M > 0) {
        if (m == M)
            tile<T, M, NV>(inner, a, b, b_row, c, c_row, start);
        else
            tile_of<T, NV, M - 1>(m, inner, a, b, b_row, c, c_row, start);
    }
}

// All rows of one panel of n columns; a panel narrower than its vectors goes through a copy.
template <class T, int NV>
void panel(std::ptrdiff_t rows, std::ptrdiff_t inner, Matrix<T> a, const T* b,
           std::ptrdiff_t b_row, T* c, std::ptrdiff_t c_row, std::ptrdiff_t n, Start<T> start) {
    constexpr int W = NV * width<T>, R = rows_of<NV>;
    for (std::ptrdiff_t i = 0; i < rows; i += R) {
        const int m = int(std::min<std::ptrdiff_t>(R, rows - i));
        const Matrix<T> from{a.data + i * a.row, a.row, a.column};
        Start<T> here{start.data ? start.data + i * start.row : nullptr, start.row};
        if (n == W) {
            tile_of<T, NV>(m, inner, from, b, b_row, c + i * c_row, c_row, here);
            continue;
        }
        alignas(64) T side[R * W];
        if (here.data && here.row) {
            for (int r = 0; r < m; ++r) copy<T>(n, here.data + r * here.row, side + r * W);
            here = {side, W};
        }
        tile_of<T, NV>(m, inner, from, b, b_row, side, W, here);
        for (int r = 0; r < m; ++r) copy<T>(n, side + r * W, c + (i + r) * c_row);
    }
}

// Copy an inner x n block into rows of w numbers, filled up with zeros.
template <class T>
void pack(std::ptrdiff_t inner, std::ptrdiff_t n, int w, Matrix<T> b, T* to) {
    if (b.column == 1) {
        for (std::ptrdiff_t k = 0; k < inner; ++k) {
            copy<T>(n, b.data + k * b.row, to + k * w);
            for (std::ptrdiff_t j = n; j < w; ++j) to[k * w + j] = T(0);
        }
        return;
    }
    for (std::ptrdiff_t j = 0; j < n; ++j)
        for (std::ptrdiff_t k = 0; k < inner; ++k) to[k * w + j] = b.data[k * b.row + j * b.column];
    for (std::ptrdiff_t k = 0; k < inner; ++k) std::fill(to + k * w + n, to + (k + 1) * w, T(0));
}

// C (rows x columns, rows of c_row numbers) = A B, plus `bias` in each row if there is one.
template <class T>
void multiply(std::ptrdiff_t rows, std::ptrdiff_t columns, std::ptrdiff_t inner, Matrix<T> a,
              Matrix<T> b, T* c, std::ptrdiff_t c_row, const T* bias, T* scratch) {
    constexpr int L = width<T>;
    for (std::ptrdiff_t k = 0; k < inner; k += INNER) {
        const std::ptrdiff_t depth = std::min(INNER, inner - k);
        const Matrix<T> left{a.data + k * a.column, a.row, a.column};
        for (std::ptrdiff_t j = 0; j < columns; j += 2 * L) {
            const std::ptrdiff_t n = std::min<std::ptrdiff_t>(2 * L, columns - j);
            const int w = n > L ? 2 * L : L;
            const Matrix<T> right{b.data + k * b.row + j * b.column, b.row, b.column};
            const bool direct = b.column == 1 && n == w && rows <= 2 * ROWS;
            if (!direct) pack<T>(depth, n, w, right, scratch);
            const T* from = direct ? right.data : scratch;
            const std::ptrdiff_t row = direct ? b.row : w;
            const Start<T> start = k > 0 ? Start<T>{c + j, c_row}
                                         : Start<T>{bias ? bias + j : nullptr, 0};
            if (w == 2 * L)
                panel<T, 2>(rows, depth, left, from, row, c + j, c_row, n, start);
            else
                panel<T, 1>(rows, depth, left, from, row, c + j, c_row, n, start);
        }
    }
}

}  // namespace ISA
