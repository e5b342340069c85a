#include "logformat/import/trace_output.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_format.h"
#include "base/posix/file_output.h"
#include "logformat/description/metadata_writer.h"
#include "logformat/description/trace_description.h"
#include "logformat/session_layout.h"

namespace countrace::importer {

using logformat::HookInfo;
using logformat::HookOrigin;
using logformat::StreamClass;

namespace {

constexpr std::size_t kPacketBytes = 256 << 10;
// Beyond so many open streams, packets are smaller: each is mapped, and its
// pages are written, before its first record.
constexpr std::size_t kFewStreams = 256;
constexpr std::size_t kSmallPacketBytes = 16 << 10;

// Makes `text` one field of a line in the description.
void MakeOneField(std::string& text) {
  for (char& c : text) {
    if (c == '\t' || c == '\n' || c == '\0') c = '?';
  }
}

std::uint64_t ThreadKey(std::int32_t pid, std::int32_t tid) {
  return std::uint64_t{static_cast<std::uint32_t>(pid)} << 32 |
         static_cast<std::uint32_t>(tid);
}
// No process has this id.
constexpr std::int32_t kCpuKey = INT32_MIN;

}  // namespace

TraceOutput::TraceOutput(TraceOutputOptions options)
    : options_(std::move(options)) {
  description_.info.uuid = options_.uuid;
}

void TraceOutput::TakeDescription(logformat::TraceDescription description) {
  description_ = std::move(description);
  options_.uuid = description_.info.uuid;
}

std::uint32_t TraceOutput::AddHook(HookInfo hook) {
  std::vector<HookInfo>& hooks = description_.info.hooks;
  if (hook.id == 0) {
    if (hook.origin != HookOrigin::kProgram) {
      if (next_kernel_hook_ > logformat::kHookIdMax) return 0;
      hook.id = next_kernel_hook_++;
    } else if (next_program_hook_ < logformat::kHookIdKernelMin) {
      hook.id = next_program_hook_++;
    } else {
      // Ids that programs may choose come last.
      if (next_early_hook_ >= logformat::kHookIdAutomaticMin) return 0;
      hook.id = next_early_hook_++;
    }
  }
  MakeOneField(hook.provider);
  MakeOneField(hook.name);
  MakeOneField(hook.location);
  logformat::SetPayloadNames(std::move(hook.payload_names), hook);
  std::replace(hook.provider.begin(), hook.provider.end(), ':', '.');
  hooks.push_back(std::move(hook));
  return hooks.back().id;
}

OutputStream& TraceOutput::Thread(std::int32_t pid, std::int32_t tid) {
  OutputStream*& slot = by_key_[ThreadKey(pid, tid)];
  if (slot == nullptr) {
    slot = &streams_.emplace_back();
    slot->pid = pid;
    slot->tid = tid;
  }
  return *slot;
}

OutputStream& TraceOutput::Cpu(std::int32_t cpu) {
  OutputStream*& slot = by_key_[ThreadKey(kCpuKey, cpu)];
  if (slot == nullptr) {
    slot = &streams_.emplace_back();
    slot->stream_class = StreamClass::kCpu;
    slot->cpu = cpu;
  }
  return *slot;
}

OutputStream& TraceOutput::Named(const std::string& file, OutputStream like) {
  OutputStream& stream = streams_.emplace_back(std::move(like));
  stream.file = file;
  stream.fixed_file = true;
  return stream;
}

bool TraceOutput::Open(OutputStream& stream, std::uint64_t time_ns) {
  if (!status_.ok()) return false;
  if (open_.size() >= max_open_streams_) {
    // Streams of CPUs are in use all the time: close them last.
    const auto older = [](const OutputStream* a, const OutputStream* b) {
      const bool cpu_a = a->stream_class == StreamClass::kCpu;
      const bool cpu_b = b->stream_class == StreamClass::kCpu;
      return cpu_a != cpu_b ? cpu_b : a->last_use < b->last_use;
    };
    Close(**std::min_element(open_.begin(), open_.end(), older));
  }
  ++stream.files;
  if (stream.fixed_file) {
    // The file name stays.
  } else if (stream.stream_class == StreamClass::kCpu) {
    stream.file = absl::StrFormat("cpu-%d", stream.cpu);
  } else {
    stream.file = absl::StrFormat("thread-%d-%d", stream.pid, stream.tid);
  }
  if (stream.files > 1)
    absl::StrAppendFormat(&stream.file, "-%d", stream.files);
  base::ScopedFd file;
  if (options_.create) {
    file = options_.create(stream.file);
    if (!file.is_open()) {
      status_ = absl::ErrnoToStatus(
          errno, absl::StrFormat("Cannot create stream file %s/%s",
                                 options_.directory, stream.file));
      return false;
    }
  }
  auto writer = logformat::PacketWriter::Create(
      {.directory = options_.directory,
       .file = stream.file,
       .fd = file.Release(),
       .stream_class = stream.stream_class,
       .uuid = options_.uuid,
       .cpu = stream.cpu,
       .pid = stream.pid,
       .tid = stream.tid,
       .present = stream.stream_class == StreamClass::kCpu
                      ? (1u << description_.info.cpu_events.size()) - 1
                      : 0,
       .packet_bytes =
           open_.size() < kFewStreams ? kPacketBytes : kSmallPacketBytes});
  if (!writer.ok()) {
    status_ = writer.status();
    return false;
  }
  stream.writer = *std::move(writer);
  stream.last_ns = time_ns;
  open_.push_back(&stream);
  return true;
}

void TraceOutput::Close(OutputStream& stream) {
  if (stream.writer == nullptr) return;
  if (const absl::Status closed = stream.writer->Close();
      !closed.ok() && status_.ok()) {
    status_ = closed;
  }
  closed_bytes_ += stream.writer->bytes();
  description_.streams.push_back({stream.file, stream.writer->packets()});
  stream.writer.reset();
  std::erase(open_, &stream);
}

void TraceOutput::NoteFailure(const OutputStream& stream) {
  if (!status_.ok()) return;
  const int error = stream.writer->last_errno();
  status_ = absl::ResourceExhaustedError(absl::StrFormat(
      "Cannot store the converted trace in %s: %s after %d bytes",
      options_.directory, error == 0 ? "a record did not fit" : strerror(error),
      bytes()));
}

void TraceOutput::Lose(OutputStream& stream, logformat::DiscardCause cause,
                       std::uint64_t records, std::uint64_t packets,
                       std::uint64_t begin_ns, std::uint64_t end_ns) {
  if (stream.writer == nullptr && !Open(stream, begin_ns)) return;
  stream.last_use = ++uses_;
  // The loss is between this packet and the next.
  bool placed = true;
  if (stream.writer->packets() == 0 || begin_ns > stream.last_ns) {
    placed = stream.writer->Mark(std::max(begin_ns, stream.last_ns));
  }
  if (records != 0) {
    stream.writer->CountDiscarded(cause, records);
  } else {
    stream.writer->CountLostPackets(packets,
                                    std::max(begin_ns, stream.last_ns));
  }
  stream.last_ns = std::max(stream.last_ns, end_ns);
  placed = stream.writer->Mark(stream.last_ns) && placed;
  if (!placed) NoteFailure(stream);
}

std::uint64_t TraceOutput::bytes() const {
  std::uint64_t bytes = closed_bytes_;
  for (const OutputStream* stream : open_) bytes += stream->writer->bytes();
  return bytes;
}

absl::Status TraceOutput::CheckSize() {
  if (status_.ok() && bytes() > options_.max_bytes) {
    status_ = absl::ResourceExhaustedError(absl::StrFormat(
        "The converted trace has more than %d bytes: --import-limit output=%d "
        "lets it have more",
        options_.max_bytes, options_.max_bytes * 4));
  }
  return status_;
}

absl::Status TraceOutput::Finish() {
  while (!open_.empty()) Close(*open_.back());
  if (!status_.ok()) return status_;
  for (const logformat::FinishedStream& expected : expected_) {
    const auto stream = std::find_if(
        description_.streams.begin(), description_.streams.end(),
        [&](const auto& made) { return made.file == expected.file; });
    if (stream == description_.streams.end()) {
      // A file without packets is not written here.
      if (expected.packets != 0) description_.streams.push_back(expected);
    } else {
      stream->packets = std::max(stream->packets, expected.packets);
    }
  }
  logformat::TraceInfo& info = description_.info;
  std::sort(info.hooks.begin(), info.hooks.end(),
            [](const HookInfo& a, const HookInfo& b) { return a.id < b.id; });
  std::sort(description_.streams.begin(), description_.streams.end(),
            [](const auto& a, const auto& b) { return a.file < b.file; });
  return WriteMetadata(logformat::MetadataText(description_));
}

absl::Status TraceOutput::WriteMetadata(const std::string& text) const {
  const std::string path = options_.directory + "/" + kNewMetadataFile;
  base::FileOutput file;
  if (options_.create) {
    base::ScopedFd made = options_.create(kNewMetadataFile);
    if (!made.is_open()) {
      return absl::ErrnoToStatus(errno, "Cannot create " + path);
    }
    file.Take(std::move(made), path);
    return file.WriteAt(0, std::as_bytes(std::span(text)));
  }
  absl::Status status = file.Create(path);
  if (status.ok()) {
    status = file.WriteAt(0, std::as_bytes(std::span(text)));
  }
  if (status.ok()) {
    status = file.RenameTo(options_.directory + "/" + logformat::kMetadataFile);
  }
  return status;
}

}  // namespace countrace::importer
