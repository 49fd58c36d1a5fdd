// The order of the rows in an epoch: numpy.random.Generator(Philox(key, counter)).permutation(n),
// number for number, since both backends must meet the rows in the same order.
//
// Philox 4x64-10: J. K. Salmon et al., Parallel random numbers: as easy as 1, 2, 3, SC 2011,
// https://doi.org/10.1145/2063384.2063405
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

struct Philox {
    std::uint64_t key[2], counter[4];
    std::uint64_t block[4] = {};
    int used = 8;  // halves of the block that were given out

    std::uint32_t next() {
        if (used == 8) advance();
        const std::uint64_t word = block[used / 2];
        return std::uint32_t(used++ % 2 == 0 ? word : word >> 32);
    }

  private:
    void advance() {
        for (int i = 0; i < 4 && ++counter[i] == 0; ++i) {}
        std::uint64_t c[4] = {counter[0], counter[1], counter[2], counter[3]};
        std::uint64_t k[2] = {key[0], key[1]};
        for (int round = 0; round < 10; ++round) {
            const auto first = (unsigned __int128)c[0] * 0xD2E7470EE14C6C93u;
            const auto second = (unsigned __int128)c[2] * 0xCA5A826395121157u;
            c[0] = std::uint64_t(second >> 64) ^ c[1] ^ k[0];
            c[1] = std::uint64_t(second);
            c[2] = std::uint64_t(first >> 64) ^ c[3] ^ k[1];
            c[3] = std::uint64_t(first);
            k[0] += 0x9E3779B97F4A7C15u, k[1] += 0xBB67AE8584CAA73Bu;
        }
        for (int i = 0; i < 4; ++i) block[i] = c[i];
        used = 0;
    }
};

// Fill `order` with 0 … n − 1 in random order (Fisher and Yates; draws by mask and rejection).
inline void permute(Philox random, std::ptrdiff_t n, std::int32_t* order) {
    for (std::ptrdiff_t i = 0; i < n; ++i) order[i] = std::int32_t(i);
    std::uint32_t mask = 0;
    while (std::ptrdiff_t(mask) < n - 1) mask = 2 * mask + 1;
    for (std::ptrdiff_t i = n - 1; i > 0; --i) {
        while (std::ptrdiff_t(mask / 2) >= i) mask /= 2;
        std::uint32_t j = random.next() & mask;
        while (std::ptrdiff_t(j) > i) j = random.next() & mask;
        std::swap(order[i], order[j]);
    }
}
