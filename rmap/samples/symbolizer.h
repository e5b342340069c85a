// Names of addresses in files: function, source file and line, by elfutils'
// libdwfl.
//
// Files are opened as they lie on this machine, when the first address in them
// is asked for, and only if they have the build id that was recorded; separate
// debug files are found by build id where the system keeps them (and by
// debuginfod, if that is configured). Thread: one.
#ifndef COUNTRACE_RMAP_SAMPLES_SYMBOLIZER_H_
#define COUNTRACE_RMAP_SAMPLES_SYMBOLIZER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "rmap/samples/samples.h"

namespace countrace::rmap {

struct CodeName {
  std::string function;  // demangled; empty: no symbol covers the address
  std::string source;    // "file.cc:12"; empty: not known
};

// A C++ or Rust name as people write it, or `name` itself: it is of another
// language, or too long to be taken apart.
std::string Demangled(const std::string& name);

class Symbolizer {
 public:
  Symbolizer();
  ~Symbolizer();
  Symbolizer(const Symbolizer&) = delete;
  Symbolizer& operator=(const Symbolizer&) = delete;

  // `offset` is a place in the file itself.
  CodeName NameOf(const CodeFile& file, std::uint64_t offset);
  // Files that were not read, with the reason, for the user.
  const std::vector<std::string>& messages() const { return messages_; }

 private:
  struct OpenFile;
  OpenFile* Open(const CodeFile& file);

  struct Impl;
  std::unique_ptr<Impl> impl_;
  std::vector<std::string> messages_;
};

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_SAMPLES_SYMBOLIZER_H_
