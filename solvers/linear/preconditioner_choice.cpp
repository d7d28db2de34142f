#include "solvers/linear/preconditioner_choice.hpp"

#include <charconv>
#include <cmath>

#include "whilst/linear/solve_options.hpp"

namespace whilst {
namespace {

/// The text before a mark, which is removed with the mark.
std::string_view taken_up_to(std::string_view& text, char mark) {
  const std::size_t at = text.find(mark);
  const std::string_view taken = text.substr(0, at);
  text.remove_prefix(at == std::string_view::npos ? text.size() : at + 1);
  return taken;
}

template <class Number>
void read_number(std::string_view doing, std::string_view setting, std::string_view text, Number& into) {
  const char* const end = text.data() + text.size();
  const auto [stopped, status] = std::from_chars(text.data(), end, into);
  if (status == std::errc() && stopped == end) return;
  throw error(doing, "setting " + std::string(setting) + " of preconditioner amg is '" + std::string(text) + "'",
              "Give a number");
}

void read_setting(std::string_view doing, std::string_view setting, std::string_view text, amg_options& into) {
  if (setting == "precision") {
    into.precision = text;
  } else if (setting == "strength") {
    read_number(doing, setting, text, into.strength);
  } else if (setting == "coarsest_rows") {
    read_number(doing, setting, text, into.coarsest_rows);
  } else if (setting == "most_levels") {
    read_number(doing, setting, text, into.most_levels);
  } else {
    throw error(doing, "preconditioner amg has no setting called '" + std::string(setting) + "'",
                "Use some of precision, strength, coarsest_rows, most_levels");
  }
}

void check(std::string_view doing, const amg_options& options) {
  const auto refuse = [&](const std::string& what, std::string_view cure) {
    throw error(doing, "setting " + what + " of preconditioner amg", cure);
  };
  const std::string& precision = options.precision;
  if (precision != "auto" && precision != "bfloat16" && precision != "float" && precision != "double")
    refuse("precision is '" + precision + "'", "Use one of auto, bfloat16, float, double");
  if (!(options.strength >= 0 && options.strength <= 1))
    refuse("strength is " + std::to_string(options.strength), "Use 0 to 1");
  if (options.coarsest_rows < 0 || options.coarsest_rows > 2048)
    refuse("coarsest_rows is " + std::to_string(options.coarsest_rows),
           "Use 1 to 2048, or 0 for what suits the machine");
  if (options.most_levels < 1 || options.most_levels > 100)
    refuse("most_levels is " + std::to_string(options.most_levels), "Use 1 to 100");
}

}  // namespace

preconditioner_choice chosen_preconditioner(std::string_view doing, const linear_solver_options& options) {
  std::string_view text = options.preconditioner;
  const std::string_view name = taken_up_to(text, ',');
  if (name != "amg") return {preconditioner_from_name(doing, options.preconditioner), {}};
  preconditioner_choice chosen{preconditioner_kind::parts, options.amg};
  while (!text.empty()) {
    std::string_view value = taken_up_to(text, ',');
    const std::string_view setting = taken_up_to(value, '=');
    read_setting(doing, setting, value, chosen.amg);
  }
  check(doing, chosen.amg);
  return chosen;
}

bool is_preconditioner_in_parts(const linear_solver_options& options) {
  return std::string_view(options.preconditioner).substr(0, 3) == "amg";
}

}  // namespace whilst
