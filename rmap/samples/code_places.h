// What the frames of samples are, for tables: function, file, source line.
//
// In: Samples. Out: places; frames of one row have the same number. Each frame
// is looked up once. Thread: one.
#ifndef COUNTRACE_RMAP_SAMPLES_CODE_PLACES_H_
#define COUNTRACE_RMAP_SAMPLES_CODE_PLACES_H_

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "rmap/samples/samples.h"
#include "rmap/samples/symbolizer.h"

namespace countrace::rmap {

enum class CodeBy : std::uint8_t { kFunction, kDso, kAddress };

// A place of the code, as the rows of a table tell places apart.
struct CodePlace {
  std::string function;  // or a bucket: [kernel], [stripped], ...; kDso: empty
  std::string dso;       // path of the file, or a bucket
  std::string source;    // kAddress: "file.cc:12"; empty: not known
  std::uint64_t address = 0;  // kAddress: in the file
  auto operator<=>(const CodePlace&) const = default;
};

class CodePlaces {
 public:
  // `samples` must outlive it.
  CodePlaces(const Samples& samples, CodeBy by);

  // The number of the place of a frame (Samples::frames; 0: no stack).
  std::uint32_t Of(std::uint32_t frame);
  const CodePlace& operator[](std::uint32_t number) const {
    return places_[number];
  }
  // Files without names.
  const std::vector<std::string>& messages() const {
    return symbolizer_.messages();
  }

 private:
  CodePlace Look(std::uint32_t frame);

  const Samples& samples_;
  const CodeBy by_;
  Symbolizer symbolizer_;
  std::vector<std::optional<std::uint32_t>> of_frame_;
  std::map<CodePlace, std::uint32_t> numbers_;
  std::vector<CodePlace> places_;
};

// "libc.so.6" of a path; of a bucket itself.
std::string CodeFileName(const std::string& path);

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_SAMPLES_CODE_PLACES_H_
