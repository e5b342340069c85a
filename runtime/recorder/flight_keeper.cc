#include "runtime/recorder/flight_keeper.h"

#include <sys/stat.h>

#include <utility>

#include "absl/strings/str_format.h"
#include "logformat/event_schema.h"
#include "logformat/session_files.h"
#include "logformat/trace_directory.h"
#include "runtime/recorder/small_file.h"

namespace countrace::runtime {

using logformat::FlightStream;
using logformat::StreamClass;

void FlightKeeper::Note(const absl::Status& status) {
  if (status.ok() || !messages_.empty()) return;  // the first one tells
  messages_.push_back(
      absl::StrFormat("The flight recording may be larger than asked for: %s",
                      StatusText(status)));
}

const FlightKeeper::Tables* FlightKeeper::CurrentTables() {
  struct stat info {};
  const std::string hooks = trace_ + "/" + logformat::kHooksFile;
  if (stat(hooks.c_str(), &info) != 0) return nullptr;
  if (tables_ && info.st_size == hooks_bytes_) return &*tables_;
  const auto description = logformat::ReadSessionFiles(trace_);
  if (!description.ok()) {
    Note(description.status());
    return nullptr;
  }
  const auto classes = logformat::EventClasses(description->info);
  tables_.emplace(
      Tables{logformat::RecordTable(classes, StreamClass::kCpu),
             logformat::RecordTable(classes, StreamClass::kThread)});
  hooks_bytes_ = info.st_size;
  return &*tables_;
}

void FlightKeeper::FindStreams() {
  const auto directory = logformat::ListTraceDirectory(trace_);
  if (!directory.ok()) return Note(directory.status());
  for (const logformat::StreamFile& file : directory->streams) {
    streams_.try_emplace(file.name, trace_, file);
  }
  for (auto& [name, stream] : streams_) Note(stream.FindClosed());
}

bool FlightKeeper::DropOne() {
  FlightStream* oldest = nullptr;
  for (auto& [name, stream] : streams_) {
    if (stream.oldest_end_ns() == ~std::uint64_t{0}) continue;
    if (oldest == nullptr || stream.oldest_end_ns() < oldest->oldest_end_ns()) {
      oldest = &stream;
    }
  }
  const Tables* const tables = oldest == nullptr ? nullptr : CurrentTables();
  if (tables == nullptr) return false;
  const bool cpu = oldest->stream_class() == StreamClass::kCpu;
  const auto bytes = oldest->DropOldest(cpu ? tables->cpu : tables->thread);
  Note(bytes.status());
  if (!bytes.ok() || *bytes == 0) return false;
  // Relaxed: a threads' quota; nothing is ordered by it.
  if (!cpu) control_.used_bytes.fetch_sub(*bytes, std::memory_order_relaxed);
  return true;
}

void FlightKeeper::Keep() {
  FindStreams();
  std::uint64_t kept = 0;
  for (const auto& [name, stream] : streams_) kept += stream.closed_bytes();
  while (kept > limit_bytes_) {
    const std::uint64_t before = kept;
    if (!DropOne()) return;
    kept = 0;
    for (const auto& [name, stream] : streams_) kept += stream.closed_bytes();
    if (kept >= before) return;
  }
}

std::vector<std::string> FlightKeeper::Finish() {
  FindStreams();
  for (auto& [name, stream] : streams_) Note(stream.Renumber());
  return std::exchange(messages_, {});
}

std::uint64_t FlightKeeper::overwritten_records() const {
  std::uint64_t sum = 0;
  for (const auto& [name, stream] : streams_) {
    sum += stream.overwritten_records();
  }
  return sum;
}

}  // namespace countrace::runtime
