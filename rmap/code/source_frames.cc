#include "rmap/code/source_frames.h"

#include <dwarf.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <utility>

namespace countrace::rmap {
namespace {

// Namespaces in namespaces, and blocks in blocks: a file may be anyone's.
constexpr int kDeepest = 200;

// Calls `take` with each range of code of a unit, function or block.
template <typename Take>
void ForEachRange(Dwarf_Die* die, const Take& take) {
  Dwarf_Addr base = 0, begin = 0, end = 0;
  ptrdiff_t at = 0;
  while ((at = dwarf_ranges(die, at, &base, &begin, &end)) > 0) {
    if (begin < end) take(begin, end);
  }
}

std::string TextOf(const char* text) { return text == nullptr ? "" : text; }

std::string FunctionName(Dwarf_Die* die) {
  for (const unsigned name : {DW_AT_linkage_name, DW_AT_MIPS_linkage_name}) {
    Dwarf_Attribute attribute;
    if (dwarf_attr_integrate(die, name, &attribute) == nullptr) continue;
    if (const char* text = dwarf_formstring(&attribute)) return text;
  }
  return TextOf(dwarf_diename(die));
}

// A file's name, absolute if the compiler's folder is known.
std::string WholePath(Dwarf_Die* unit, const std::string& name) {
  if (name.empty()) return name;
  std::filesystem::path path(name);
  Dwarf_Attribute attribute;
  if (path.is_relative() &&
      dwarf_attr(unit, DW_AT_comp_dir, &attribute) != nullptr) {
    path = std::filesystem::path(TextOf(dwarf_formstring(&attribute))) / path;
  }
  return path.lexically_normal();
}

Dwarf_Word NumberOf(Dwarf_Die* die, unsigned name) {
  Dwarf_Attribute attribute;
  Dwarf_Word value = 0;
  if (dwarf_attr(die, name, &attribute) == nullptr ||
      dwarf_formudata(&attribute, &value) != 0) {
    return 0;
  }
  return value;
}

// Where the code that was inlined is called.
void SetCallPlace(Dwarf_Die* unit, Dwarf_Die* inlined, SourceFrame& frame) {
  Dwarf_Files* files = nullptr;
  std::size_t count = 0;
  const Dwarf_Word file = NumberOf(inlined, DW_AT_call_file);
  if (dwarf_getsrcfiles(unit, &files, &count) != 0 || file >= count) return;
  frame.file = WholePath(
      unit, TextOf(dwarf_filesrc(files, file, /*mtime=*/nullptr, nullptr)));
  frame.line = static_cast<std::uint32_t>(NumberOf(inlined, DW_AT_call_line));
}

// The innermost block below `die` that has the address; false: none has it.
bool DescendTo(Dwarf_Addr pc, Dwarf_Die& die) {
  Dwarf_Die child;
  if (dwarf_child(&die, &child) != 0) return false;
  do {
    const int tag = dwarf_tag(&child);
    if ((tag == DW_TAG_inlined_subroutine || tag == DW_TAG_lexical_block ||
         tag == DW_TAG_try_block || tag == DW_TAG_catch_block) &&
        dwarf_haspc(&child, pc) == 1) {
      die = child;
      return true;
    }
  } while (dwarf_siblingof(&child, &child) == 0);
  return false;
}

}  // namespace

Dwarf_Die* SourceFrames::UnitOf(Dwarf_Addr address, Dwarf_Addr& bias) {
  if (Dwarf_Die* const unit = dwfl_module_addrdie(module_, address, &bias)) {
    return unit;
  }
  if (!has_units_) {
    has_units_ = true;
    Dwarf_Die* die = nullptr;
    Dwarf_Addr of_unit = 0;
    while ((die = dwfl_module_nextcu(module_, die, &of_unit)) != nullptr) {
      ForEachRange(die, [&](Dwarf_Addr begin, Dwarf_Addr end) {
        units_.push_back({begin + of_unit, end + of_unit, die, of_unit});
      });
    }
    std::sort(units_.begin(), units_.end(),
              [](const Unit& a, const Unit& b) { return a.begin < b.begin; });
  }
  const auto after = std::upper_bound(
      units_.begin(), units_.end(), address,
      [](Dwarf_Addr value, const Unit& one) { return value < one.begin; });
  if (after == units_.begin()) return nullptr;
  const Unit& unit = *std::prev(after);
  if (address >= unit.end) return nullptr;
  bias = unit.bias;
  return unit.die;
}

void SourceFrames::Collect(Dwarf_Die* parent, int depth,
                           std::vector<Function>& functions) {
  Dwarf_Die child;
  if (depth > kDeepest || dwarf_child(parent, &child) != 0) return;
  do {
    const int tag = dwarf_tag(&child);
    if (tag == DW_TAG_subprogram) {
      ForEachRange(&child, [&](Dwarf_Addr begin, Dwarf_Addr end) {
        functions.push_back({begin, end, child});
      });
    } else if (tag == DW_TAG_namespace || tag == DW_TAG_module) {
      Collect(&child, depth + 1, functions);
    }
  } while (dwarf_siblingof(&child, &child) == 0);
}

const SourceFrames::Function* SourceFrames::FunctionOf(Dwarf_Die* unit,
                                                       Dwarf_Addr pc) {
  const auto [found, added] = functions_.try_emplace(dwarf_dieoffset(unit));
  std::vector<Function>& functions = found->second;
  if (added) {
    Collect(unit, 0, functions);
    std::sort(
        functions.begin(), functions.end(),
        [](const Function& a, const Function& b) { return a.begin < b.begin; });
  }
  const auto after = std::upper_bound(
      functions.begin(), functions.end(), pc,
      [](Dwarf_Addr value, const Function& one) { return value < one.begin; });
  if (after == functions.begin()) return nullptr;
  const Function& function = *std::prev(after);
  return pc < function.end ? &function : nullptr;
}

std::vector<SourceFrame> SourceFrames::Of(Dwarf_Addr address) {
  Dwarf_Addr bias = 0;
  Dwarf_Die* const unit = UnitOf(address, bias);
  if (unit == nullptr) return {};
  const Dwarf_Addr pc = address - bias;
  std::vector<SourceFrame> frames(1);  // outermost first
  if (const Function* const function = FunctionOf(unit, pc)) {
    Dwarf_Die die = function->die;
    frames.back().function = FunctionName(&die);
    for (int depth = 0; depth < kDeepest && DescendTo(pc, die); ++depth) {
      if (dwarf_tag(&die) != DW_TAG_inlined_subroutine) continue;
      SetCallPlace(unit, &die, frames.back());
      frames.emplace_back().function = FunctionName(&die);
    }
  }
  if (Dwarf_Line* const line = dwarf_getsrc_die(unit, pc)) {
    int number = 0;
    const char* const path = dwarf_linesrc(line, nullptr, nullptr);
    if (path != nullptr && dwarf_lineno(line, &number) == 0 && number > 0) {
      frames.back().file = WholePath(unit, path);
      frames.back().line = static_cast<std::uint32_t>(number);
    }
  }
  std::reverse(frames.begin(), frames.end());
  return frames;
}

}  // namespace countrace::rmap
