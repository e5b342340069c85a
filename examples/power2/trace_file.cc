#include "trace_file.h"

#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <utility>

namespace power2 {

using logformat::HookInfo;
using logformat::HookOrigin;
using logformat::PacketWriter;
using logformat::PacketWriterOptions;
using logformat::StreamClass;

TraceFile::TraceFile(const std::string& directory) : directory_(directory) {
  std::error_code error;
  if (!std::filesystem::create_directory(directory, error)) {
    throw std::runtime_error(
        directory + ": " +
        (error ? error.message() : "exists already; choose another name"));
  }
}

std::uint32_t TraceFile::AddHook(HookInfo hook) {
  std::vector<HookInfo>& hooks = info().hooks;
  hook.id = hook.origin == HookOrigin::kProgram ? logformat::kHookIdAutomaticMin
                                                : logformat::kHookIdKernelMin;
  for (const HookInfo& other : hooks) {
    if (other.id == hook.id) ++hook.id;
  }
  // They ascend, those of programs first.
  auto place = hooks.begin();
  while (place != hooks.end() && place->id < hook.id) ++place;
  return hooks.insert(place, std::move(hook))->id;
}

void TraceFile::AppendToCpu(std::uint32_t cpu, std::uint16_t event,
                            std::uint64_t time_ns, const Body& body) {
  PacketWriterOptions options;
  options.file = "cpu-" + std::to_string(cpu);
  options.cpu = static_cast<std::int32_t>(cpu);
  const logformat::EventSets sets = info().cpu_sets();
  options.present = sets.rotates() ? 0 : (1u << sets.slots()) - 1;
  Append(std::move(options), event, time_ns, body);
}

void TraceFile::AppendToThread(std::int32_t tid, std::uint16_t event,
                               std::uint64_t time_ns, const Body& body) {
  PacketWriterOptions options;
  options.file = "thread-" + std::to_string(tid) + "-" + std::to_string(tid);
  options.stream_class = StreamClass::kThread;
  options.pid = options.tid = tid;
  Append(std::move(options), event, time_ns, body);
}

void TraceFile::Append(PacketWriterOptions options, std::uint16_t event,
                       std::uint64_t time_ns, const Body& body) {
  std::unique_ptr<PacketWriter>& stream = streams_[options.file];
  if (stream == nullptr) {
    options.directory = directory_;
    options.uuid = info().uuid;
    options.packet_bytes = 64 << 10;
    auto made = PacketWriter::Create(options);
    if (!made.ok()) throw std::runtime_error(made.status().ToString());
    stream = *std::move(made);
  }
  if (!stream->Append(event, time_ns, body.bytes())) {
    throw std::runtime_error(directory_ + "/" + options.file +
                             ": a record was not stored");
  }
}

void TraceFile::Finish() {
  for (const auto& [file, stream] : streams_) {
    const auto closed = stream->Close();
    if (!closed.ok()) throw std::runtime_error(closed.ToString());
    description_.streams.push_back({file, stream->packets()});
  }
  std::ofstream metadata(directory_ + "/metadata", std::ios::binary);
  metadata << logformat::MetadataText(description_);
  if (!metadata.flush()) {
    throw std::runtime_error(directory_ + "/metadata: not written");
  }
}

}  // namespace power2
