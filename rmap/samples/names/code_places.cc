#include "rmap/samples/names/code_places.h"

#include <utility>

#include "base/text/demangled.h"
#include "logformat/sample_points.h"

namespace countrace::rmap {
namespace {

constexpr char kNotNamed[] = "[not named: ";  // symbolizer.h

// Places of the other tables differ by the source.
bool HasFunctions(SampleBy by) {
  return by == SampleBy::kFunction || by == SampleBy::kAddress ||
         by == SampleBy::kFunctionInstruction;
}

// Places of whole instructions, whatever function has them.
bool HasOnlyInstructions(SampleBy by) {
  return IsOfInstructions(by) && by != SampleBy::kFunctionInstruction;
}

}  // namespace

CodePlaces::CodePlaces(const Samples& samples, SampleBy by,
                       Symbolizer* symbolizer)
    : samples_(samples),
      by_(by),
      own_symbolizer_(symbolizer == nullptr ? std::make_unique<Symbolizer>()
                                            : nullptr),
      symbolizer_(symbolizer == nullptr ? own_symbolizer_.get() : symbolizer),
      of_frame_(samples.frames.size()) {}

std::uint32_t CodePlaces::NumberOf(CodePlace place) {
  const auto [found, added] = numbers_.try_emplace(
      std::move(place), static_cast<std::uint32_t>(places_.size()));
  if (added) places_.push_back(found->first);
  return found->second;
}

void CodePlaces::Expect(const std::vector<bool>& chosen) {
  if (by_ == SampleBy::kDso) return;
  std::vector<bool> seen(samples_.frames.size());
  std::map<std::uint32_t, std::vector<std::uint64_t>> addresses;  // by file
  for (const SampleSum& sum : samples_.sums) {
    if (!chosen.empty() && !chosen[sum.context]) continue;
    for (std::uint32_t at = sum.frame; at != 0 && !seen[at];
         at = IsOfInstructions(by_) ? 0 : samples_.frames[at].parent) {
      seen[at] = true;
      const StackFrame& frame = samples_.frames[at];
      if (samples_.files[frame.file].path.starts_with('/')) {
        addresses[frame.file].push_back(frame.address);
      }
    }
  }
  for (const auto& [file, of_file] : addresses) {
    if (IsOfInstructions(by_)) {
      symbolizer_->ExpectMnemonics(samples_.files[file], of_file);
    }
    if (HasOnlyInstructions(by_)) continue;
    symbolizer_->Expect(samples_.files[file], of_file);
  }
}

const std::vector<std::uint32_t>& CodePlaces::Of(std::uint32_t number) {
  std::optional<std::uint32_t>& known = of_frame_[number];
  if (!known) {
    const StackFrame& frame = samples_.frames[number];
    const auto next = static_cast<std::uint32_t>(chains_.size());
    // No code lies at this address: 0 stands for no stack.
    const std::uint64_t address =
        number == 0 ? ~std::uint64_t{0} : frame.address;
    const auto [found, added] =
        of_address_.try_emplace({frame.file, address, frame.symbol}, next);
    known = found->second;
    if (added) {
      std::vector<std::uint32_t>& chain = chains_.emplace_back();
      if (number == 0) {
        CodePlace none;
        none.dso = logformat::kUnknownCode;
        if (HasFunctions(by_)) none.function = none.dso;
        SetInstruction({none.dso, ""}, none);
        if (by_ == SampleBy::kLine || by_ == SampleBy::kFile)
          none.source = none.dso;
        chain.push_back(NumberOf(std::move(none)));
      } else {
        for (CodePlace& place : Look(frame)) {
          chain.push_back(NumberOf(std::move(place)));
        }
      }
    }
  }
  return chains_[*known];
}

void CodePlaces::SetInstruction(const Mnemonic& mnemonic,
                                CodePlace& place) const {
  if (!IsOfInstructions(by_)) return;
  if (HasOnlyInstructions(by_)) place.dso.clear();
  place.instruction = mnemonic.name;
  place.instruction_class = mnemonic.kind;
  if (by_ != SampleBy::kInstructionClass) return;
  if (mnemonic.kind.empty()) place.instruction_class = mnemonic.name;
  place.instruction.clear();
}

std::vector<CodePlace> CodePlaces::Look(const StackFrame& frame) {
  const CodeFile& file = samples_.files[frame.file];
  CodePlace place;
  place.dso = file.path.empty() ? logformat::kUnknownCode : file.path;
  if (by_ == SampleBy::kAddress) place.address = frame.address;
  if (by_ == SampleBy::kDso) return {place};
  const bool is_file = place.dso.front() == '/';
  if (IsOfInstructions(by_)) {
    SetInstruction(is_file ? symbolizer_->MnemonicAt(file, frame.address)
                           : Mnemonic{place.dso, ""},
                   place);
    if (HasOnlyInstructions(by_)) return {place};
  }
  if (!is_file) {
    if (HasFunctions(by_)) {
      place.function = RecordedName(frame, place.dso);
    } else {
      place.source = place.dso;
    }
    return {place};
  }
  std::vector<CodePlace> places;
  for (CodeName& name : symbolizer_->NamesOf(file, frame.address)) {
    CodePlace& one = places.emplace_back(place);
    if (HasFunctions(by_)) {
      one.function = name.function.empty() ? kStripped : name.function;
      one.inlined = name.inlined;
    }
    if (by_ == SampleBy::kFunctionInstruction) break;
    if (by_ == SampleBy::kFunction) continue;
    one.source = std::move(name.file);
    if (by_ != SampleBy::kFile) one.line = name.line;
    if (by_ == SampleBy::kAddress) break;
    if (one.source.empty()) {
      one.source = name.function.empty()                  ? kStripped
                   : name.function.starts_with(kNotNamed) ? name.function
                                                          : kNoLines;
    }
  }
  return places;
}

std::string CodePlaces::RecordedName(const StackFrame& frame,
                                     const std::string& bucket) const {
  if (frame.symbol != 0) {
    return base::Demangled(samples_.timed_symbols[frame.symbol - 1].name);
  }
  const CodeSymbol* const symbol = RecordedSymbol(samples_, frame);
  return symbol == nullptr ? bucket : base::Demangled(symbol->name);
}

}  // namespace countrace::rmap
