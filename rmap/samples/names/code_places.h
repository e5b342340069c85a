// What the frames of samples are, for tables: function, file, source line.
//
// In: Samples. Out: places; frames of one row have the same number. Each
// address is looked up once; two of them with one Symbolizer read each file
// once. Thread: one.
#ifndef COUNTRACE_RMAP_SAMPLES_NAMES_CODE_PLACES_H_
#define COUNTRACE_RMAP_SAMPLES_NAMES_CODE_PLACES_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "rmap/result/sample_table.h"
#include "rmap/result/samples.h"
#include "rmap/samples/names/frame_places.h"
#include "rmap/samples/names/symbolizer.h"

namespace countrace::rmap {

// Places of code in a file without symbols, and without lines.
inline constexpr char kStripped[] = "[stripped]";
inline constexpr char kNoLines[] = "[no lines]";

class CodePlaces final : public FramePlaces {
 public:
  // `by`: of code, no tree. `samples` must outlive it, and `symbolizer`;
  // absent: one of its own.
  CodePlaces(const Samples& samples, SampleBy by,
             Symbolizer* symbolizer = nullptr);

  // Looks for the frames of all sums at once, which costs less than one after
  // the other. `chosen`: of Samples::contexts; empty: all.
  void Expect(const std::vector<bool>& chosen);
  const std::vector<std::uint32_t>& Of(std::uint32_t frame) override;
  const CodePlace& operator[](std::uint32_t number) const override {
    return places_[number];
  }
  const std::vector<std::string>& messages() const override {
    return symbolizer_->messages();
  }

 private:
  std::vector<CodePlace> Look(const StackFrame& frame);
  void SetInstruction(const Mnemonic& mnemonic, CodePlace& place) const;
  std::uint32_t NumberOf(CodePlace place);
  // The name of code in no file; `bucket` if it has none.
  std::string RecordedName(const StackFrame& frame,
                           const std::string& bucket) const;

  const Samples& samples_;
  const SampleBy by_;
  const std::unique_ptr<Symbolizer> own_symbolizer_;
  Symbolizer* const symbolizer_;
  // Indices into chains_, by frame and by its file, address and
  // symbol.
  std::vector<std::optional<std::uint32_t>> of_frame_;
  absl::flat_hash_map<std::tuple<std::uint32_t, std::uint64_t, std::uint32_t>,
                      std::uint32_t>
      of_address_;
  std::vector<std::vector<std::uint32_t>> chains_;
  std::map<CodePlace, std::uint32_t> numbers_;
  std::vector<CodePlace> places_;
};

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_SAMPLES_NAMES_CODE_PLACES_H_
