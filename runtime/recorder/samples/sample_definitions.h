// Definitions of what samples name by number (FORMAT.md 4.8): files, frames,
// functions, areas of memory. Each comes in a stream before the first record
// with its number.
//
// A packet begins anew, so that it needs no other one (a flight recording
// overwrites the oldest), unless definitions would take more than a fifth of
// the stream. Thread: one.
#ifndef COUNTRACE_RUNTIME_RECORDER_SAMPLES_SAMPLE_DEFINITIONS_H_
#define COUNTRACE_RUNTIME_RECORDER_SAMPLES_SAMPLE_DEFINITIONS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "logformat/data_areas.h"
#include "logformat/stack_frame.h"
#include "runtime/recorder/kernel/hooks/kernel_hook_registry.h"
#include "runtime/recorder/samples/address_spaces.h"
#include "runtime/recorder/samples/jit_dump_files.h"
#include "runtime/recorder/samples/jit_names.h"
#include "runtime/recorder/samples/kernel_names.h"
#include "runtime/recorder/samples/sample_output.h"

namespace countrace::runtime {

class SampleDefinitions {
 public:
  // `files` and `kernel_names` must outlive this.
  SampleDefinitions(std::size_t cpus, CodeFiles& files,
                    KernelNames& kernel_names);

  // Registers the points; `registry` must outlive this.
  void Register(KernelHookRegistry& registry, bool with_areas);

  // Returns the number of the innermost frame; 0: the stack is empty. `stack`:
  // innermost first. Before DefineArea() of the same sample.
  std::uint64_t DefineStack(const std::vector<CodePlace>& stack,
                            const SampleOutput& out);
  void DefineArea(std::uint32_t number, const logformat::DataArea& area,
                  const SampleOutput& out);
  // Defines the files of the stream again that got their build ids meanwhile.
  void CompleteFiles(const SampleOutput& out);
  // At the end: names of the code in all stacks so far that compilers at run
  // time made. Appends to `messages` what is wrong with their files.
  void DefineJitFunctions(const JitDumps& dumps, const SampleOutput& out,
                          std::vector<std::string>& messages);

 private:
  using Frame = logformat::StackFrame;
  // What a stream has defined since it began anew.
  struct Stream {
    std::uint64_t packets = 0;
    std::uint64_t begun_bytes = 0;  // of the stream, when it began anew
    std::uint64_t last_frame = 0;   // numbers are never used again
    absl::flat_hash_set<std::uint32_t> files;
    std::size_t completed = 0;  // of CodeFiles::completed()
    absl::flat_hash_set<std::uint64_t> kernel_symbols;  // by begin
    absl::flat_hash_set<std::uint32_t> areas;
    absl::flat_hash_map<Frame, std::uint64_t> frames;
    // The stack of the last sample, outermost first, with its frames' numbers:
    // most stacks begin as the one before.
    std::vector<std::pair<CodePlace, std::uint64_t>> last;
  };

  static void BeginPacket(Stream& stream,
                          const logformat::PacketWriter& writer);
  std::uint64_t DefineFrame(std::uint64_t parent, CodePlace place,
                            const SampleOutput& out);
  void DefineFile(std::uint32_t file, const SampleOutput& out);
  void StoreFile(std::uint32_t file, const SampleOutput& out);
  void DefineKernelSymbol(std::uint64_t address, const SampleOutput& out);
  void DefineJitFunction(std::uint32_t file, const JitFunction& function,
                         const SampleOutput& out);

  CodeFiles& files_;
  KernelNames& kernel_names_;
  const std::uint32_t kernel_file_;
  std::vector<Stream> streams_;  // by CPU
  // Addresses in code that compilers at run time made, by file.
  std::map<std::uint32_t, std::set<std::uint64_t>> jit_addresses_;
  KernelHookRegistry* registry_ = nullptr;  // since Register()
  // Event ids of the points.
  std::uint16_t frame_id_ = 0, file_id_ = 0, symbol_id_ = 0, timed_id_ = 0,
                area_id_ = 0;
};

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_SAMPLES_SAMPLE_DEFINITIONS_H_
