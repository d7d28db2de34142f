#include "apps/common/command_line.hpp"

#include <fmt/ranges.h>

#include "benchmarks/common/measured_at.hpp"
#include "whilst/error.hpp"

namespace whilst::command {

std::optional<int> parse_command_line(CLI::App& app, int argument_count, char** argument_values) {
  try {
    app.parse(argument_count, argument_values);
  } catch (const CLI::Success& asked) {  // --help, --version
    return app.exit(asked);
  } catch (const CLI::ParseError& problem) {
    std::string help = app.get_name();
    for (const CLI::App* command : app.get_subcommands()) help += " " + command->get_name();
    throw error(fmt::format("{} (see {} --help)", problem.what(), help));
  }
  return {};
}

void add_version(CLI::App& app) {
  app.set_version_flag("-V,--version", version_text(app.get_name()), "Print the version and leave");
}

std::vector<const CLI::App*> commands_of(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

CLI::Validator whole_number(index_type least, index_type most, const char* example) {
  return number<index_type>(
      "INT", [=](index_type value) { return value >= least && value <= most; },
      fmt::format("a whole number of at least {}, as {}", least, example));
}

CLI::Validator one_of(std::vector<std::string> names) {
  const std::string type = fmt::format("{}", fmt::join(names, "|"));
  return {[names](std::string& text) -> std::string {
            for (const auto& name : names) {
              if (text == name) return {};
            }
            return fmt::format("\"{}\" is not known; give one of {}", text, fmt::join(names, ", "));
          },
          type};
}

CLI::Validator not_empty() {
  return {[](std::string& text) { return std::string(text.empty() ? "is empty; give a path" : ""); }, "FILE"};
}

void add_threads(CLI::App* to, int& threads) {
  add(to, "--threads", threads,
      "Most threads of the CPU under executor host, which change no bit of the result; 0 chooses (default 0)",
      number<int>(
          "INT", [](int value) { return value >= 0 && value <= 1024; }, "a whole number from 0 to 1024, as 4"));
}

}  // namespace whilst::command
