// Source lines and inlined calls at an address of a file, by its DWARF.
//
// In: a module of libdwfl, which must outlive it. Out: calls, innermost first.
// The functions of a unit are indexed when the first address in it is asked
// for. Thread: one.
#ifndef COUNTRACE_RMAP_CODE_SOURCE_FRAMES_H_
#define COUNTRACE_RMAP_CODE_SOURCE_FRAMES_H_

#include <elfutils/libdwfl.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace countrace::rmap {

struct SourceFrame {
  // That of an inlined function, as the file has it (perhaps mangled); of the
  // function that has the code, the last one: empty if there is no name.
  std::string function;
  std::string file;        // empty: not known
  std::uint32_t line = 0;  // in the file: of the code, or of the inlined call
};

class SourceFrames {
 public:
  explicit SourceFrames(Dwfl_Module* module) : module_(module) {}

  // `address`: with the module's bias. Empty: no debug information covers it.
  std::vector<SourceFrame> Of(Dwarf_Addr address);

 private:
  struct Function {
    Dwarf_Addr begin = 0, end = 0;
    Dwarf_Die die{};
  };
  struct Unit {
    Dwarf_Addr begin = 0, end = 0;
    Dwarf_Die* die = nullptr;
    Dwarf_Addr bias = 0;
  };

  Dwarf_Die* UnitOf(Dwarf_Addr address, Dwarf_Addr& bias);
  const Function* FunctionOf(Dwarf_Die* unit, Dwarf_Addr pc);
  static void Collect(Dwarf_Die* parent, int depth,
                      std::vector<Function>& functions);

  Dwfl_Module* const module_;
  std::map<Dwarf_Off, std::vector<Function>> functions_;  // by unit
  // By address, of files without .debug_aranges.
  std::vector<Unit> units_;
  bool has_units_ = false;
};

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_CODE_SOURCE_FRAMES_H_
