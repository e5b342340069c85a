// The tracepoints that a perf.data file describes: the fields in their raw
// bytes, parsed by libtraceevent.
//
// In: the section HEADER_TRACING_DATA (tools/perf/util/trace-event-read.c; also
// in trace-cmd's trace.dat 6), untrusted. Thread: one.
#ifndef COUNTRACE_LOGFORMAT_IMPORT_PERF_TRACEPOINT_FORMATS_H_
#define COUNTRACE_LOGFORMAT_IMPORT_PERF_TRACEPOINT_FORMATS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "logformat/import/perf/byte_reader.h"

struct tep_handle;

namespace countrace::importer::perf {

// A tracepoint's own field; common_* are left out.
struct TracepointField {
  enum class Kind : std::uint8_t { kInteger, kText, kBytes };
  std::string name;
  Kind kind = Kind::kInteger;
  bool is_signed = false;
  bool is_pointer = false;
  bool dynamic = false;   // its offset is in the word at `offset`
  bool relative = false;  // offset from the end of that word
  std::uint32_t offset = 0, bytes = 0;
  std::uint32_t element_bytes = 0;  // of an array
};

struct Tracepoint {
  std::string system, name;
  std::vector<TracepointField> fields;
  // nullopt: it has no field of that name.
  std::optional<std::uint32_t> Find(std::string_view field) const;
};

class TracepointFormats {
 public:
  TracepointFormats() = default;
  TracepointFormats(const TracepointFormats&) = delete;
  TracepointFormats& operator=(const TracepointFormats&) = delete;
  ~TracepointFormats();

  // Returns: INVALID_ARGUMENT the section is damaged, and where.
  absl::Status Read(std::span<const std::byte> section);
  // `id` is perf_event_attr::config; nullopt: it is not described.
  std::optional<Tracepoint> Describe(std::uint64_t id) const;
  bool big_endian() const { return big_endian_; }

 private:
  absl::Status ReadFormats(ByteReader& in);

  tep_handle* tep_ = nullptr;
  bool big_endian_ = false;
};

// Reads values from the raw bytes of one event.
class TracepointValues {
 public:
  TracepointValues(std::span<const std::byte> raw, bool big_endian)
      : raw_(raw), big_endian_(big_endian) {}
  // Sign-extended if it is signed; nullopt: no integer, or beyond the bytes.
  std::optional<std::int64_t> Integer(const TracepointField& field) const;
  std::optional<std::string_view> Text(const TracepointField& field) const;
  // The field's bytes, dynamic or not.
  std::span<const std::byte> Bytes(const TracepointField& field) const;
  void AppendText(const TracepointField& field, std::string& out) const;

 private:
  std::uint64_t Number(std::size_t at, std::size_t bytes) const;

  std::span<const std::byte> raw_;
  bool big_endian_;
};

}  // namespace countrace::importer::perf

#endif  // COUNTRACE_LOGFORMAT_IMPORT_PERF_TRACEPOINT_FORMATS_H_
