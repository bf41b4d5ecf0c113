# Tables of tests are data files, one test per line:
#   <name>: <words>                      a test; a line that begins with a space continues the one before,
#                                        without a space between them after a comma
#   <name> for <value>...: <words>       a test per value, which replaces each * in the name and the words
#   let @<shape> = <words>               words that later lines name by @<shape>
#   # ...                                a comment
# musubi_data_lines(<list> <file>): the lines `<name>: <words>` of the file, with all of these replaced. CMake
# runs again when the file changes.
function(musubi_data_lines list file)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
  file(STRINGS ${file} lines REGEX "^[^#]")
  list(JOIN lines "\n" text)
  string(REGEX REPLACE ",\n +" "," text "${text}")
  string(REGEX REPLACE "\n +" " " text "${text}")
  string(REPLACE "\n" ";" lines "${text}")
  set(read)
  foreach(line IN LISTS lines)
    set(shape)
    if(line MATCHES "^let @([a-z_]+) = (.*)$")
      set(shape ${CMAKE_MATCH_1})
      set(line "${CMAKE_MATCH_2}")
    endif()
    while(line MATCHES "@([a-z_]+)")
      if(NOT DEFINED shape_${CMAKE_MATCH_1})
        message(FATAL_ERROR "${file}: no line defines @${CMAKE_MATCH_1}: ${line}")
      endif()
      string(REPLACE "@${CMAKE_MATCH_1}" "${shape_${CMAKE_MATCH_1}}" line "${line}")
    endwhile()
    if(shape)
      set(shape_${shape} "${line}")
    elseif(line MATCHES "^([^: ]+) for ([^:]+): (.*)$")
      set(pattern "${CMAKE_MATCH_1}: ${CMAKE_MATCH_3}")
      separate_arguments(values UNIX_COMMAND "${CMAKE_MATCH_2}")
      foreach(value IN LISTS values)
        string(REPLACE "*" "${value}" test "${pattern}")
        list(APPEND read "${test}")
      endforeach()
    elseif(line MATCHES "^[^: ]+: .*$")
      list(APPEND read "${line}")
    else()
      message(FATAL_ERROR "${file}: not a line of a table: ${line}")
    endif()
  endforeach()
  set(${list} ${read} PARENT_SCOPE)
endfunction()

# musubi_split_line(<line>): for words in columns, `<words> | <words>...`. Sets `name`, `words`, the words of
# the first column, and `columns`, the list of the further columns.
function(musubi_split_line line)
  string(REGEX MATCH "^([^:]+): (.*)$" line "${line}")
  set(name ${CMAKE_MATCH_1} PARENT_SCOPE)
  string(REGEX REPLACE " *[|] *" ";" columns "${CMAKE_MATCH_2}")
  list(POP_FRONT columns words)
  separate_arguments(words UNIX_COMMAND "${words}")
  set(words "${words}" PARENT_SCOPE)
  set(columns "${columns}" PARENT_SCOPE)
endfunction()
