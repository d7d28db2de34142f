#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string_view>

#include "apps/common/command_line.hpp"
#include "apps/common/manual.hpp"
#include "apps/common/manual_option.hpp"
#include "whilst/error.hpp"

namespace whilst::command {
namespace {

std::string words_of(const std::vector<const CLI::App*>& commands) {
  std::vector<std::string> names;
  for (const CLI::App* command : commands) names.push_back(command->get_name());
  return fmt::format("{}", fmt::join(names, " "));
}

std::string option_words(const CLI::App& command) {
  std::vector<std::string> names;
  for (const manual_option& option : options_of(command))
    names.insert(names.end(), option.names.begin(), option.names.end());
  return fmt::format("{}", fmt::join(names, " "));
}

/// The text with a backslash before each of these characters, safe between a shell's single quotes.
std::string with_backslashes(std::string_view text, std::string_view characters) {
  std::string result;
  for (const char c : text) {
    if (characters.find(c) != std::string_view::npos) result += '\\';
    c == '\'' ? result += "'\\''" : result += c;
  }
  return result;
}

// ---------------------------------------------------------------- bash

/// The cases of a command: what follows an option that takes a value, and what a word of its own completes to.
std::string bash_cases(const std::string& program, const CLI::App& command) {
  std::string cases;
  std::string words = "COMPREPLY=()";
  for (const manual_option& option : options_of(command)) {
    std::vector<std::string> patterns;
    for (const std::string& name : option.names) patterns.push_back(fmt::format("\"{} {}\"", command.get_name(), name));
    const std::string does = !option.choices.empty() ? fmt::format("COMPREPLY=($(compgen -W '{}' -- \"$word\"))",
                                                                   fmt::join(option.choices, " "))
                             : option.takes_file()   ? "_" + program + "_files"
                                                     : "COMPREPLY=()";
    if (option.is_positional()) {
      words = does;
    } else if (!option.value.empty()) {
      cases += fmt::format("    {}) {} ;;\n", fmt::join(patterns, " | "), does);
    }
  }
  return cases +
         fmt::format(
             "    \"{0} \"*) if [[ $word == -* ]]; then COMPREPLY=($(compgen -W '{1}' -- \"$word\")); else {2}; "
             "fi ;;\n",
             command.get_name(), option_words(command), words);
}

std::string bash_script(const CLI::App& app) {
  const auto commands = commands_of(app);
  std::string cases;
  for (const CLI::App* command : commands) cases += bash_cases(app.get_name(), *command);
  return fmt::format(R"(# Completion of {0} in bash, made by "{0} completion bash".
_{0}_files() {{
  compopt -o filenames 2>/dev/null
  COMPREPLY=($(compgen -f -- "$word"))
}}
_{0}() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD - 1]}} command=${{COMP_WORDS[1]}}
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W '{1} {2}' -- "$word"))
    return
  fi
  case "$command $before" in
{3}  esac
}}
complete -F _{0} {0}
)",
                     app.get_name(), words_of(commands), option_words(app), cases);
}

// ---------------------------------------------------------------- zsh

std::string zsh_value(const manual_option& option) {
  if (!option.choices.empty()) return fmt::format(":value:({})", fmt::join(option.choices, " "));
  return fmt::format(":{}:{}", with_backslashes(option.value, ":\\"), option.takes_file() ? "_files" : "");
}

std::string zsh_arguments(const CLI::App& command) {
  std::string arguments;
  for (const manual_option& option : options_of(command)) {
    if (option.is_positional()) arguments += fmt::format(" \\\n          '1{}'", zsh_value(option));
    for (const std::string& name : option.names)
      arguments += fmt::format(" \\\n          '{}[{}]{}'", name, with_backslashes(option.description, "[]:\\"),
                               option.value.empty() ? "" : zsh_value(option));
  }
  return arguments;
}

std::string zsh_script(const CLI::App& app) {
  std::string commands, cases;
  for (const CLI::App* command : commands_of(app)) {
    commands +=
        fmt::format("        '{}:{}'\n", command->get_name(), with_backslashes(command->get_description(), ":\\"));
    cases += fmt::format("        {}) _arguments{} ;;\n", command->get_name(), zsh_arguments(*command));
  }
  return fmt::format(R"(#compdef {0}
# Completion of {0} in zsh, made by "{0} completion zsh".
_{0}() {{
  local state line
  local -a commands
  _arguments -C{1} \
          '1: :->command' '*:: :->argument'
  case $state in
    command)
      commands=(
{2}      )
      _describe command commands ;;
    argument)
      case $line[1] in
{3}      esac ;;
  esac
}}
_{0} "$@"
)",
                     app.get_name(), zsh_arguments(app), commands, cases);
}

// ---------------------------------------------------------------- fish

std::string fish_options(const std::string& program, const std::string& condition, const CLI::App& command) {
  std::string lines;
  for (const manual_option& option : options_of(command)) {
    std::string line = fmt::format("complete -c {} -n '{}'", program, condition);
    for (const std::string& name : option.names)
      line += name[1] == '-' ? " -l " + name.substr(2) : " -s " + name.substr(1);
    if (!option.choices.empty()) {
      line += fmt::format(" -x -a '{}'", fmt::join(option.choices, " "));
    } else if (!option.value.empty()) {
      line += option.takes_file() ? " -r -F" : option.is_positional() ? "" : " -x";
    }
    lines += fmt::format("{} -d '{}'\n", line, with_backslashes(option.description, "\\"));
  }
  return lines;
}

std::string fish_script(const CLI::App& app) {
  const std::string program = app.get_name();
  std::string lines =
      fmt::format("# Completion of {0} in fish, made by \"{0} completion fish\".\ncomplete -c {0} -f\n", program) +
      fish_options(program, "__fish_use_subcommand", app);
  for (const CLI::App* command : commands_of(app)) {
    lines += fmt::format("complete -c {} -n __fish_use_subcommand -a {} -d '{}'\n", program, command->get_name(),
                         with_backslashes(command->get_description(), "\\"));
    lines += fish_options(program, "__fish_seen_subcommand_from " + command->get_name(), *command);
  }
  return lines;
}

}  // namespace

std::string completion_script(const CLI::App& app, const std::string& shell) {
  if (shell == "bash") return bash_script(app);
  if (shell == "zsh") return zsh_script(app);
  if (shell == "fish") return fish_script(app);
  throw error("completion", "\"" + shell + "\" is not known", "Give one of bash, zsh, fish");
}

}  // namespace whilst::command
