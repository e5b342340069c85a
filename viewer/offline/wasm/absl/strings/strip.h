// StripAsciiWhitespace() is where Abseil has it, too.
#include "absl/strings/ascii.h"
