// A trace on disk, written record by record with countrace's own writer:
// packets of the CPUs' and the threads' streams, then the description.
//
// Failures of the file system are exceptions (std::runtime_error).
#ifndef COUNTRACE_EXAMPLES_POWER2_TRACE_FILE_H_
#define COUNTRACE_EXAMPLES_POWER2_TRACE_FILE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "logformat/description/metadata_writer.h"
#include "logformat/write/packet_writer.h"

namespace power2 {

namespace logformat = countrace::logformat;

// The body of a record, byte-packed (FORMAT.md, section 4).
class Body {
 public:
  template <typename T>
  Body& Add(T value) {
    const auto bytes = std::as_bytes(std::span<const T, 1>(&value, 1));
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
    return *this;
  }
  Body& AddAll(const std::vector<std::uint64_t>& values) {
    for (const std::uint64_t value : values) Add(value);
    return *this;
  }
  // `width` bytes, filled up with 0.
  Body& AddText(std::string_view text, std::size_t width) {
    for (std::size_t i = 0; i < width; ++i)
      Add(i < text.size() ? text[i] : '\0');
    return *this;
  }
  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

class TraceFile {
 public:
  // Makes `directory`, which must not exist.
  explicit TraceFile(const std::string& directory);

  // Complete before the first record, but for the hooks.
  logformat::TraceInfo& info() { return description_.info; }
  // Returns its id. `types`, `names`: of the values of a point.
  std::uint32_t AddHook(logformat::HookInfo hook);

  // Times are CLOCK_MONOTONIC ns and must not go back within a stream.
  void AppendToCpu(std::uint32_t cpu, std::uint16_t event,
                   std::uint64_t time_ns, const Body& body);
  void AppendToThread(std::int32_t tid, std::uint16_t event,
                      std::uint64_t time_ns, const Body& body);
  // Closes the streams and writes the description.
  void Finish();

 private:
  void Append(logformat::PacketWriterOptions options, std::uint16_t event,
              std::uint64_t time_ns, const Body& body);

  std::string directory_;
  logformat::TraceDescription description_;
  std::map<std::string, std::unique_ptr<logformat::PacketWriter>> streams_;
};

}  // namespace power2

#endif  // COUNTRACE_EXAMPLES_POWER2_TRACE_FILE_H_
