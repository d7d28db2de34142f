#include "solvers/linear/preconditioners/preconditioner_choice.hpp"

#include <charconv>
#include <type_traits>

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
  requires std::is_arithmetic_v<Number>
  void read(Number& into) const {
    const char* const end = text.data() + text.size();
    const auto [stopped, status] = std::from_chars(text.data(), end, into);
    if (status != std::errc() || stopped != end)
      refuse(std::is_integral_v<Number> ? "Give a whole number" : "Give a number");
  }
  void read(std::string& into) const { into = text; }
  void read(bool& into) const {
    if (text != "true" && text != "false") refuse("Use true or false");
    into = text == "true";
  }
};

void read_setting(const setting_text& given, const preconditioner_description& of, linear_solver_options& into) {
  std::string names;
  bool is_there = false;
  for (const preconditioner_setting& one : of.settings(into))
    std::visit(
        [&](auto* value) {
          if constexpr (requires { given.read(*value); }) {
            names += (names.empty() ? "" : ", ") + std::string(one.name);
            if (one.name != given.name) return;
            is_there = true;
            given.read(*value);
          }
        },
        one.value);
  if (!is_there)
    throw error(given.doing,
                "preconditioner " + std::string(of.name) + " has no setting called '" + std::string(given.name) + "'",
                "Use some of " + names);
}

}  // namespace

std::vector<std::string> preconditioner_names() {
  std::vector<std::string> names{std::string(automatic_preconditioner), "none", "jacobi"};
  for (const preconditioner_description* const one : preconditioner_table()) names.emplace_back(one->name);
  return names;
}
std::string_view name_of_preconditioner(const linear_solver_options& options) {
  std::string_view text = options.preconditioner;
  return taken_up_to(text, ',');
}
bool is_preconditioner_in_parts(const linear_solver_options& options) {
  return options.preconditioner == automatic_preconditioner ||
         described_preconditioner(name_of_preconditioner(options)) != nullptr;
}

preconditioner_choice chosen_preconditioner(std::string_view doing, const linear_solver_options& options) {
  std::string_view text = options.preconditioner;
  if (text == automatic_preconditioner)
    return {preconditioner_kind::parts, std::string(text), std::string(text), options, nullptr};
  const preconditioner_description* const made = described_preconditioner(name_of_preconditioner(options));
  if (!made) return {preconditioner_from_name(doing, text), std::string(text), std::string(text), options, nullptr};
  taken_up_to(text, ',');
  preconditioner_choice chosen{preconditioner_kind::parts, made->name, options.preconditioner, options, made};
  chosen.options.preconditioner = made->name;
  while (!text.empty()) {
    std::string_view value = taken_up_to(text, ',');
    const std::string_view setting = taken_up_to(value, '=');
    read_setting({doing, made->name, setting, value}, *made, chosen.options);
  }
  made->check({doing, made->name}, chosen.options);
  return chosen;
}

}  // namespace whilst
