// Single samples with the names of their code, as bytes: what an exported page
// holds, to have tables of any range without the trace and its programs.
//
// In: Samples with `timed`, and names. Out: bytes, and Samples of a range from
// them, with the same sums as those of the trace. Thread: any (plain values).
#ifndef COUNTRACE_RMAP_SAMPLES_NAMES_NAMED_SAMPLES_H_
#define COUNTRACE_RMAP_SAMPLES_NAMES_NAMED_SAMPLES_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "rmap/result/samples.h"
#include "rmap/samples/names/frame_places.h"

namespace countrace::rmap {

// Samples of the same key belong to the same sum.
struct SampleKey {
  std::uint32_t event = 0, context = 0, frame = 0;
};

struct StoredSample {
  std::uint64_t time_ns = 0, period = 0;
  std::uint32_t key = 0;  // of NamedSamples::keys
  bool second = false, stack_lost = false;
};

struct NamedSamples {
  std::uint64_t begin_ns = 0;         // of the recording
  std::string refusal;                // why it has no samples; empty: it has
  std::vector<std::string> messages;  // files without names
  // Without sums, symbols and addresses. Files: not known, the kernel, others.
  Samples samples;
  std::vector<std::string> in;    // texts of the contexts
  std::vector<CodePlace> places;  // functions
  std::vector<std::vector<std::uint32_t>> chains;
  std::vector<std::uint32_t> chain_of_frame;
  std::vector<SampleKey> keys;
  std::vector<StoredSample> stored;
};

std::string EncodeNamedSamples(const NamedSamples& named);
// Errors: DATA_LOSS these are no such bytes.
absl::StatusOr<NamedSamples> DecodeNamedSamples(
    std::span<const std::byte> bytes);

// Those of [from_ns, until_ns).
Samples SamplesOfRange(const NamedSamples& named, std::uint64_t from_ns,
                       std::uint64_t until_ns);

// The places of its frames. `named` must outlive it.
class NamedPlaces final : public FramePlaces {
 public:
  explicit NamedPlaces(const NamedSamples& named) : named_(named) {}

  const std::vector<std::uint32_t>& Of(std::uint32_t frame) override {
    return named_.chains[named_.chain_of_frame[frame]];
  }
  const CodePlace& operator[](std::uint32_t number) const override {
    return named_.places[number];
  }
  const std::vector<std::string>& messages() const override {
    return named_.messages;
  }

 private:
  const NamedSamples& named_;
};

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_SAMPLES_NAMES_NAMED_SAMPLES_H_
