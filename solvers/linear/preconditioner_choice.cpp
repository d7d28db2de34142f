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

/// A setting as text, and what to say where it is none.
struct setting_text {
  std::string_view doing, preconditioner, name, text;

  [[noreturn]] void refuse(std::string_view cure) const {
    throw error(doing,
                "setting " + std::string(name) + " of preconditioner " + std::string(preconditioner) + " is '" +
                    std::string(text) + "'",
                cure);
  }
  template <class Number>
  void read(Number& into) const {
    const char* const end = text.data() + text.size();
    const auto [stopped, status] = std::from_chars(text.data(), end, into);
    if (status != std::errc() || stopped != end) refuse("Give a number");
  }
  void read(std::string& into) const { into = text; }
  void read(bool& into) const {
    if (text != "true" && text != "false") refuse("Use true or false");
    into = text == "true";
  }
};

/// visit(name, setting) for each that a preconditioner has.
template <class Visit>
void each_setting(preconditioner_choice& chosen, const Visit& visit) {
  if (chosen.name == "amg") {
    visit("precision", chosen.amg.precision);
    visit("strength", chosen.amg.strength);
    visit("coarsest_rows", chosen.amg.coarsest_rows);
    visit("most_levels", chosen.amg.most_levels);
    visit("unknowns_a_node", chosen.amg.unknowns_a_node);
    return;
  }
  visit("drop", chosen.ilu.drop);
  visit("fill", chosen.ilu.fill);
  visit("levels", chosen.ilu.levels);
  if (chosen.name == "ilu") {
    visit("matching", chosen.ilu.matching);
    visit("pivoting", chosen.ilu.pivoting);
  }
  visit("order", chosen.ilu.order);
}

void read_setting(const setting_text& given, preconditioner_choice& into) {
  bool is_there = false;
  std::string names;
  each_setting(into, [&](std::string_view name, auto& setting) {
    names += (names.empty() ? "" : ", ") + std::string(name);
    if (name != given.name) return;
    is_there = true;
    given.read(setting);
  });
  if (!is_there)
    throw error(given.doing, "preconditioner " + into.name + " has no setting called '" + std::string(given.name) + "'",
                "Use some of " + names);
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
  if (options.unknowns_a_node < 1 || options.unknowns_a_node > 8)
    refuse("unknowns_a_node is " + std::to_string(options.unknowns_a_node), "Use 1 to 8");
}

void check(std::string_view doing, const std::string& name, const ilu_options& options) {
  const auto refuse = [&](const std::string& what, std::string_view cure) {
    throw error(doing, "setting " + what + " of preconditioner " + name, cure);
  };
  if (!(options.drop >= 0 && options.drop <= 1)) refuse("drop is " + std::to_string(options.drop), "Use 0 to 1");
  if (!(options.fill >= 0)) refuse("fill is " + std::to_string(options.fill), "Use 0, for no bound, or more");
  if (options.levels < -1)
    refuse("levels is " + std::to_string(options.levels), "Use 0 or more, or -1 to drop by size instead");
  if (options.order != "none" && options.order != "rcm" && options.order != "degree")
    refuse("order is '" + options.order + "'", "Use one of none, rcm, degree");
  if (name == "ic") return;
  if (!(options.pivoting >= 0 && options.pivoting <= 1))
    refuse("pivoting is " + std::to_string(options.pivoting), "Use 0, for none, to 1");
  if (options.pivoting > 0 && options.levels >= 0)
    refuse("pivoting is " + std::to_string(options.pivoting), "Leave it out, or leave out levels");
}

}  // namespace

std::vector<std::string> preconditioner_names() { return {"none", "jacobi", "amg", "ilu", "ic"}; }
std::string_view name_of_preconditioner(const linear_solver_options& options) {
  std::string_view text = options.preconditioner;
  return taken_up_to(text, ',');
}
bool is_preconditioner_in_parts(const linear_solver_options& options) {
  const std::string_view name = name_of_preconditioner(options);
  return name == "amg" || name == "ilu" || name == "ic";
}

preconditioner_choice chosen_preconditioner(std::string_view doing, const linear_solver_options& options) {
  std::string_view text = options.preconditioner;
  if (!is_preconditioner_in_parts(options))
    return {preconditioner_from_name(doing, text), std::string(text), options.amg, options.ilu};
  const std::string_view name = taken_up_to(text, ',');
  preconditioner_choice chosen{preconditioner_kind::parts, std::string(name), options.amg, options.ilu};
  while (!text.empty()) {
    std::string_view value = taken_up_to(text, ',');
    const std::string_view setting = taken_up_to(value, '=');
    read_setting({doing, name, setting, value}, chosen);
  }
  if (name == "amg") {
    check(doing, chosen.amg);
  } else {
    check(doing, chosen.name, chosen.ilu);
  }
  return chosen;
}

}  // namespace whilst
