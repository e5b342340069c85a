#include "runtime/recorder/samples/sample_stacks.h"

#include <linux/perf_event.h>

#include <algorithm>
#include <bit>
#include <span>
#include <string_view>
#include <tuple>
#include <utility>

#include "absl/strings/str_format.h"
#include "logformat/sample_points.h"
#include "runtime/recorder/kernel/ring/sample_entries.h"
#include "runtime/recorder/request/sample_request.h"

namespace countrace::runtime {

using base::UnwoundStack;

SampleStacks::SampleStacks(CodeFiles& files, KernelNames& kernel_names)
    : kernel_names_(kernel_names),
      spaces_(files),
      unwinder_(spaces_),
      kernel_file_(files.Number({logformat::kKernelCode, logformat::kNoText})),
      truncated_file_(
          files.Number({logformat::kTruncatedStack, logformat::kNoText})),
      not_unwound_file_(
          files.Number({logformat::kStackNotUnwound, logformat::kNoText})) {}

void SampleStacks::Map(std::int32_t pid,
                       const logformat::DataMapping& mapping) {
  unwinder_.Forget(pid, mapping.start, mapping.start + mapping.bytes);
  spaces_.Map(pid, mapping.start, mapping.bytes, mapping.offset, mapping.path,
              mapping.build_id);
}

void SampleStacks::NewProgram(std::int32_t pid) {
  spaces_.NewProgram(pid);
  unwinder_.Forget(pid);
}

void SampleStacks::End(std::int32_t pid) {
  spaces_.End(pid);
  unwinder_.Forget(pid);
}

const std::vector<CodePlace>& SampleStacks::Find(const std::uint64_t* words,
                                                 std::int32_t pid,
                                                 StackKind kind) {
  FindFrames(words, pid);
  if (kind != StackKind::kHit) CutBegin(kind == StackKind::kWaker);
  return stack_;
}

void SampleStacks::FindFrames(const std::uint64_t* words, std::int32_t pid) {
  const auto sizes = std::bit_cast<SampleSizes>(words[2]);
  const std::span<const std::uint64_t> chain(words + kSampleHeadWords,
                                             sizes.chain);
  stack_.clear();
  bool in_kernel = !chain.empty() && chain[0] >> 63 != 0;
  for (const std::uint64_t at : chain) {
    if (at >= static_cast<std::uint64_t>(PERF_CONTEXT_MAX)) {
      in_kernel = at == static_cast<std::uint64_t>(PERF_CONTEXT_KERNEL) ||
                  at == static_cast<std::uint64_t>(PERF_CONTEXT_HV);
      continue;
    }
    // Where a chain of frame pointers ends.
    if (at == 0) continue;
    // A return address may be the first of the next function.
    const std::uint64_t address = stack_.empty() ? at
                                  : in_kernel ? kernel_names_.CallerAddress(at)
                                              : at - 1;
    const CodePlace place = in_kernel ? CodePlace{kernel_file_, address}
                                      : spaces_.Find(pid, address);
    // Not a chain, but a pointer to itself: libc makes threads with one.
    if (place.file == spaces_.unknown() && !stack_.empty() &&
        stack_.back() == place) {
      break;
    }
    stack_.push_back(place);
  }
  if (sizes.registers == 0) return;
  const std::uint64_t* const registers = chain.data() + chain.size();
  const UnwoundStack& unwound = unwinder_.Unwind(
      pid, {{registers, sizes.registers},
            std::as_bytes(std::span(
                reinterpret_cast<const char*>(registers + sizes.registers),
                sizes.stack_bytes)),
            sizes.stack_is_cut});
  ++unwound_;
  stack_.insert(stack_.end(), unwound.frames.begin(), unwound.frames.end());
  if (unwound.end == UnwoundStack::End::kTruncated) {
    ++truncated_;
    stack_.push_back({truncated_file_, 0});
  } else if (unwound.end == UnwoundStack::End::kNotUnwound) {
    ++not_unwound_;
    stack_.push_back({not_unwound_file_, 0});
  }
}

void SampleStacks::CutBegin(bool of_waker) {
  const auto way = [&](std::string_view part) {
    const auto is_way = [&](const CodePlace& place) {
      const LocalSymbol* const symbol = place.file == kernel_file_
                                            ? kernel_names_.Find(place.address)
                                            : nullptr;
      return symbol != nullptr && symbol->name.find(part) != std::string::npos;
    };
    const auto begin = std::find_if(stack_.begin(), stack_.end(), is_way);
    return std::pair(begin, std::find_if_not(begin, stack_.end(), is_way));
  };
  // A new thread, which waited for its first CPU, was made there.
  auto [begin, end] = way(of_waker ? "wake" : "wake_up_new_task");
  if (!of_waker && begin == end) std::tie(begin, end) = way("schedule");
  if (end == stack_.end()) return;
  // The last one says how it woke.
  if (of_waker && end != begin) --end;
  stack_.erase(stack_.begin(), end);
}

void SampleStacks::Describe(std::uint32_t stack_bytes,
                            std::vector<std::string>& messages) const {
  if (truncated_ != 0) {
    messages.push_back(absl::StrFormat(
        "Stacks went on behind the bytes that were copied and end in %s: "
        "stacks=%d, bytes=%d; copy more (--call-graph dwarf,BYTES, at most %d)",
        logformat::kTruncatedStack, truncated_, stack_bytes, kMostStackBytes));
  }
  // Few are usual: a program is being replaced, its stack is gone.
  if (not_unwound_ > unwound_ / 100 + 1) {
    messages.push_back(absl::StrFormat(
        "Stacks had a frame of which no rule leads to its caller, and end in "
        "%s: stacks=%d of %d",
        logformat::kStackNotUnwound, not_unwound_, unwound_));
  }
}

}  // namespace countrace::runtime
