#include "logformat/packet_checksum.h"

#include <string.h>

#if defined(__aarch64__)
#include <sys/auxv.h>
#endif

namespace countrace::logformat {
namespace {

// Polynomials are reflected: bit 31 is x^0.
constexpr std::uint32_t kPolynomial = 0x82f63b78;

// table[k][b]: remainder of byte b with k bytes of zeros behind it.
struct Tables {
  std::uint32_t of[8][256] = {};
  constexpr Tables() {
    for (std::uint32_t byte = 0; byte < 256; ++byte) {
      std::uint32_t rest = byte;
      for (int bit = 0; bit < 8; ++bit) {
        rest = rest >> 1 ^ ((rest & 1) != 0 ? kPolynomial : 0);
      }
      of[0][byte] = rest;
    }
    for (int k = 1; k < 8; ++k) {
      for (int byte = 0; byte < 256; ++byte) {
        const std::uint32_t before = of[k - 1][byte];
        of[k][byte] = before >> 8 ^ of[0][before & 0xff];
      }
    }
  }
};
constexpr Tables kTables;

// a * b modulo the polynomial.
constexpr std::uint32_t Multiply(std::uint32_t a, std::uint32_t b) noexcept {
  std::uint32_t product = 0;
  for (std::uint32_t bit = 1u << 31; bit != 0; bit >>= 1) {
    if ((a & bit) != 0) product ^= b;
    b = b >> 1 ^ ((b & 1) != 0 ? kPolynomial : 0);
  }
  return product;
}

// of[k] = x^(8 * 2^k).
struct Powers {
  std::uint32_t of[48] = {};
  constexpr Powers() {
    of[0] = 1u << 23;
    for (int k = 1; k < 48; ++k) of[k] = Multiply(of[k - 1], of[k - 1]);
  }
};
constexpr Powers kPowers;

// x^(8 * bytes): what `bytes` bytes behind it do to a remainder.
std::uint32_t Power(std::uint64_t bytes) noexcept {
  std::uint32_t power = 1u << 31;
  for (int k = 0; bytes != 0; bytes >>= 1, ++k) {
    if ((bytes & 1) != 0) power = Multiply(power, kPowers.of[k]);
  }
  return power;
}

std::uint64_t Word(const unsigned char* at) noexcept {
  std::uint64_t word;
  memcpy(&word, at, sizeof(word));
  return word;
}

// `rest` is the remainder so far, without the inversions of CRC32C.
std::uint32_t ByTables(std::uint32_t rest, const unsigned char* at,
                       std::size_t bytes) noexcept {
  const auto& table = kTables.of;
  for (; bytes >= 8; at += 8, bytes -= 8) {
    const std::uint64_t word = Word(at) ^ rest;
    rest = table[7][word & 0xff] ^ table[6][word >> 8 & 0xff] ^
           table[5][word >> 16 & 0xff] ^ table[4][word >> 24 & 0xff] ^
           table[3][word >> 32 & 0xff] ^ table[2][word >> 40 & 0xff] ^
           table[1][word >> 48 & 0xff] ^ table[0][word >> 56];
  }
  for (; bytes != 0; ++at, --bytes) {
    rest = rest >> 8 ^ table[0][(rest ^ *at) & 0xff];
  }
  return rest;
}

#if defined(__x86_64__) || defined(__aarch64__)

#if defined(__x86_64__)
#define COUNTRACE_WITH_CRC __attribute__((target("sse4.2")))
COUNTRACE_WITH_CRC inline std::uint32_t Step(std::uint32_t rest,
                                             std::uint64_t word) noexcept {
  return static_cast<std::uint32_t>(__builtin_ia32_crc32di(rest, word));
}
bool HasInstruction() noexcept { return __builtin_cpu_supports("sse4.2") != 0; }
#else
#define COUNTRACE_WITH_CRC __attribute__((target("+crc")))
COUNTRACE_WITH_CRC inline std::uint32_t Step(std::uint32_t rest,
                                             std::uint64_t word) noexcept {
  return __builtin_aarch64_crc32cx(rest, word);
}
bool HasInstruction() noexcept {
  constexpr unsigned long kCrc32 = 1ul << 7;  // HWCAP_CRC32
  return (getauxval(AT_HWCAP) & kCrc32) != 0;
}
#endif

// Fewer bytes in one go are not worth the two multiplications.
constexpr std::size_t kStreamsFromBytes = 16 * 1024;

// The instruction's result is there after three cycles, and one may begin in
// each: three parts are taken at the same time.
COUNTRACE_WITH_CRC std::uint32_t ByInstruction(std::uint32_t rest,
                                               const unsigned char* at,
                                               std::size_t bytes) noexcept {
  if (bytes >= kStreamsFromBytes) {
    const std::size_t part = bytes / 24 * 8;
    std::uint32_t second = 0, third = 0;
    for (const unsigned char* const end = at + part; at != end; at += 8) {
      rest = Step(rest, Word(at));
      second = Step(second, Word(at + part));
      third = Step(third, Word(at + 2 * part));
    }
    const std::uint32_t power = Power(part);
    rest = Multiply(power, rest) ^ second;
    rest = Multiply(power, rest) ^ third;
    at += 2 * part;
    bytes -= 3 * part;
  }
  for (; bytes >= 8; at += 8, bytes -= 8) rest = Step(rest, Word(at));
  return ByTables(rest, at, bytes);
}

#endif

}  // namespace

std::uint32_t Crc32cByTables(std::uint32_t crc, const void* data,
                             std::size_t bytes) noexcept {
  return ~ByTables(~crc, static_cast<const unsigned char*>(data), bytes);
}

std::uint32_t Crc32c(std::uint32_t crc, const void* data,
                     std::size_t bytes) noexcept {
#if defined(__x86_64__) || defined(__aarch64__)
  static const bool has_instruction = HasInstruction();
  if (has_instruction) {
    return ~ByInstruction(~crc, static_cast<const unsigned char*>(data), bytes);
  }
#endif
  return Crc32cByTables(crc, data, bytes);
}

std::uint32_t PacketChecksum(const PacketHead& head,
                             const void* records) noexcept {
  PacketHead checked = head;
  checked.checksum = 0;
  const std::uint32_t crc = Crc32c(0, &checked, sizeof(checked));
  return Crc32c(crc, records, CheckedRecordBytes(head));
}

std::uint32_t ChangedChecksum(const PacketHead& before,
                              const PacketHead& after) noexcept {
  // The remainder is linear: the difference of the heads, moved by the records.
  PacketHead from = before, to = after;
  from.checksum = to.checksum = 0;
  const std::uint32_t difference =
      Crc32c(0, &from, sizeof(from)) ^ Crc32c(0, &to, sizeof(to));
  return before.checksum ^
         Multiply(Power(CheckedRecordBytes(before)), difference);
}

}  // namespace countrace::logformat
