#include "runtime/recorder/samples/sample_definitions.h"

#include <array>

#include "logformat/sample_points.h"

namespace countrace::runtime {

using logformat::SamplePoint;

SampleDefinitions::SampleDefinitions(std::size_t cpus, CodeFiles& files,
                                     KernelNames& kernel_names)
    : files_(files),
      kernel_names_(kernel_names),
      kernel_file_(files.Number({logformat::kKernelCode, logformat::kNoText})),
      streams_(cpus) {}

void SampleDefinitions::Register(KernelHookRegistry& registry,
                                 bool with_areas) {
  const auto add = [&](SamplePoint point) {
    return registry.AddPoint(logformat::DescribeSamplePoint(point, "", ""));
  };
  frame_id_ = add(SamplePoint::kFrame);
  file_id_ = add(SamplePoint::kFile);
  symbol_id_ = add(SamplePoint::kSymbol);
  if (with_areas) area_id_ = add(SamplePoint::kArea);
  registry_ = &registry;
}

void SampleDefinitions::BeginPacket(Stream& stream,
                                    const logformat::PacketWriter& writer) {
  if (stream.packets == writer.packets()) return;
  stream.packets = writer.packets();
  // A frame's record, with what little files and symbols add.
  constexpr std::uint64_t kDefinitionBytes = 48, kRest = 4;
  if (writer.bytes() - stream.begun_bytes <
      kRest * kDefinitionBytes * stream.frames.size()) {
    return;
  }
  stream.begun_bytes = writer.bytes();
  stream.files.clear();
  stream.kernel_symbols.clear();
  stream.frames.clear();
  stream.areas.clear();
  stream.last.clear();
}

std::uint64_t SampleDefinitions::DefineStack(
    const std::vector<CodePlace>& stack, const SampleOutput& out) {
  Stream& stream = streams_[out.cpu];
  BeginPacket(stream, out.writer);
  CompleteFiles(out);
  // They are defined from the outermost on.
  std::uint64_t frame = 0;
  std::size_t depth = 0;
  for (auto place = stack.rbegin(); place != stack.rend(); ++place) {
    if (depth < stream.last.size() && stream.last[depth].first == *place) {
      frame = stream.last[depth++].second;
      continue;
    }
    stream.last.resize(depth++);
    frame = DefineFrame(frame, *place, out);
    stream.last.emplace_back(*place, frame);
  }
  stream.last.resize(depth);
  return frame;
}

std::uint64_t SampleDefinitions::DefineFrame(std::uint64_t parent,
                                             CodePlace place,
                                             const SampleOutput& out) {
  Stream& stream = streams_[out.cpu];
  const auto [found, added] =
      stream.frames.try_emplace(Frame{parent, place.address, place.file}, 0);
  if (!added) return found->second;
  const std::uint64_t id = found->second = ++stream.last_frame;
  DefineFile(place.file, out);
  if (place.file == kernel_file_) {
    DefineKernelSymbol(place.address, out);
  } else if (files_[place.file].pid != 0) {
    jit_addresses_[place.file].insert(place.address);
  }
  const std::array<std::uint64_t, logformat::kFrameNumbers> numbers = {
      id, parent, place.file, place.address};
  out.Append(frame_id_, numbers);
  return id;
}

void SampleDefinitions::DefineFile(std::uint32_t file,
                                   const SampleOutput& out) {
  if (streams_[out.cpu].files.insert(file).second) StoreFile(file, out);
}

void SampleDefinitions::CompleteFiles(const SampleOutput& out) {
  Stream& stream = streams_[out.cpu];
  for (; stream.completed < files_.completed().size(); ++stream.completed) {
    const std::uint32_t file = files_.completed()[stream.completed];
    if (stream.files.contains(file)) StoreFile(file, out);
  }
}

void SampleDefinitions::StoreFile(std::uint32_t file, const SampleOutput& out) {
  const std::uint64_t number = file;
  const std::array<std::string, 2> texts = {files_[file].build_id,
                                            files_[file].path};
  out.Append(file_id_, {&number, 1}, texts);
}

void SampleDefinitions::DefineKernelSymbol(std::uint64_t address,
                                           const SampleOutput& out) {
  const LocalSymbol* const symbol = kernel_names_.Find(address);
  if (symbol == nullptr ||
      !streams_[out.cpu].kernel_symbols.insert(symbol->begin).second) {
    return;
  }
  const std::array<std::uint64_t, logformat::kSymbolNumbers> numbers = {
      kernel_file_, symbol->begin, symbol->bytes};
  out.Append(symbol_id_, numbers, {&symbol->name, 1});
}

void SampleDefinitions::DefineArea(std::uint32_t number,
                                   const logformat::DataArea& area,
                                   const SampleOutput& out) {
  if (!streams_[out.cpu].areas.insert(number).second) return;
  const std::uint32_t file = files_.Number(
      {area.path, area.build_id.empty() ? logformat::kNoText : area.build_id});
  DefineFile(file, out);
  const std::array<std::uint64_t, logformat::kAreaNumbers> numbers = {
      number,     file,        area.start,
      area.bytes, area.offset, static_cast<std::uint64_t>(area.thread)};
  out.Append(area_id_, numbers);
}

void SampleDefinitions::DefineJitFunctions(const JitDumps& dumps,
                                           const SampleOutput& out,
                                           std::vector<std::string>& messages) {
  base::NameLimits limits;
  std::size_t left = jit_addresses_.size();
  for (const auto& [file, addresses] : jit_addresses_) {
    base::NameLimits share = limits.TakeShare(left--);
    for (const JitFunction& function :
         NameJitCode(dumps, files_[file].pid, addresses, share, messages)) {
      DefineJitFunction(file, function, out);
    }
    limits.Return(share.bytes());
  }
  jit_addresses_.clear();
}

void SampleDefinitions::DefineJitFunction(std::uint32_t file,
                                          const JitFunction& function,
                                          const SampleOutput& out) {
  const auto& [begin, bytes, from_ns, until_ns, name] = function.function;
  DefineFile(file, out);
  if (!function.has_times) {
    const std::array<std::uint64_t, logformat::kSymbolNumbers> numbers = {
        file, begin, bytes};
    out.Append(symbol_id_, numbers, {&name, 1});
    return;
  }
  if (timed_id_ == 0) {
    timed_id_ = registry_->AddPoint(
        logformat::DescribeSamplePoint(SamplePoint::kTimedSymbol, "", ""));
  }
  if (timed_id_ == 0) return;  // there are no more ids
  const std::array<std::uint64_t, logformat::kTimedSymbolNumbers> numbers = {
      file, begin, bytes, from_ns, until_ns};
  out.Append(timed_id_, numbers, {&name, 1});
}

}  // namespace countrace::runtime
