// What the frames of samples are, for tables: function, file, source line.
// Names are looked up (code_places.h), or were stored (named_samples.h).
#ifndef COUNTRACE_RMAP_SAMPLES_NAMES_FRAME_PLACES_H_
#define COUNTRACE_RMAP_SAMPLES_NAMES_FRAME_PLACES_H_

#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

namespace countrace::rmap {

// A place of the code, as the rows of a table tell places apart.
struct CodePlace {
  // Or a bucket: [kernel], [stripped], ...; of kDso, kLine, kFile: empty.
  std::string function;
  bool inlined = false;  // the function's code is part of another's
  std::string dso;       // path of the file, or a bucket
  // kAddress, kLine, kFile: the source's file. Not known: empty for kAddress,
  // of the others a bucket.
  std::string source;
  std::uint32_t line = 0;     // kAddress, kLine; 0: not known
  std::uint64_t address = 0;  // kAddress: in the file
  // SampleRow's; of tables of instructions.
  std::string instruction = {}, instruction_class = {};
  bool operator==(const CodePlace&) const = default;
  // Not <=>, which strings of wasm's library lack.
  bool operator<(const CodePlace& other) const {
    const auto order = [](const CodePlace& one) {
      return std::tie(one.function, one.inlined, one.dso, one.source, one.line,
                      one.address, one.instruction, one.instruction_class);
    };
    return order(*this) < order(other);
  }
};

class FramePlaces {
 public:
  virtual ~FramePlaces() = default;

  // The numbers of the places of a frame (Samples::frames; 0: no stack): that
  // of the innermost inlined function first, of the function that has the code
  // last. At least one; of kAddress and kDso one.
  virtual const std::vector<std::uint32_t>& Of(std::uint32_t frame) = 0;
  virtual const CodePlace& operator[](std::uint32_t number) const = 0;
  // Files without names.
  virtual const std::vector<std::string>& messages() const = 0;

 protected:
  FramePlaces() = default;
  FramePlaces(const FramePlaces&) = default;
  FramePlaces& operator=(const FramePlaces&) = default;
};

// "FILE:12"; "FILE" if the line is 0.
std::string SourceText(const CodePlace& place);

// "libc.so.6" of a path; of a bucket itself.
std::string CodeFileName(const std::string& path);

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_SAMPLES_NAMES_FRAME_PLACES_H_
