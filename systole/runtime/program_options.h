// What a caller of any layer may ask of a program.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

namespace systole::runtime {

// A part of CompileOptions that the layers above pass on whole: the step of a training, its loop,
// the session. Protocols, files and refusals list the options by for_each(): a new option is a
// member and a line here, and named nowhere else but where it is set and where it is read.
struct ProgramOptions {
  // The inputs of dots and convolutions are rounded to bf16, the sums are f32: a TPU's default.
  bool bf16_products = false;
  // Takes the time of every step: see ExecuteOptions::profile.
  bool profile = false;

  // Calls visit(name, member) for each.
  template <class Self, class Visit>
  static void for_each(Self& self, const Visit& visit) {
    visit("bf16_products", self.bf16_products);
    visit("profile", self.profile);
  }
};

// The names of those that are set, as one word: "{bf16_products,profile}".
std::string to_text(const ProgramOptions& options);
// The options of which to_text() made `text`; none for "". Errors: INVALID_ARGUMENT for other text.
ProgramOptions program_options_of(std::string_view text);

// Throws UNIMPLEMENTED for an option that is set and not among those that `platform` has.
void check_program_options(std::string_view platform, const ProgramOptions& options,
                           std::initializer_list<std::string_view> supported);

}  // namespace systole::runtime
