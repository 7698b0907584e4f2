# Helpers that every directory's CMakeLists.txt uses.

find_program(MUSTER_CCACHE ccache)
if(MUSTER_CCACHE)
  # Paths relative to the checkout, so that a fresh clone elsewhere hits the same cache.
  set(launcher ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1 ${MUSTER_CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${launcher})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${launcher})
endif()
find_program(MUSTER_MOLD mold)
if(MUSTER_MOLD)
  add_link_options(-fuse-ld=mold)
endif()

# Compiling the sources of a library by tens parses the headers once for all of them. Off in the
# developer's preset, where one changed source is to be compiled alone.
option(MUSTER_UNITY "Compile the libraries' sources by tens" ON)

# muster_by_tens(<variable> <directory of the generated files> <sources to keep alone>...)
# Replaces the sources in the variable by generated ones that include ten of them each. They name what
# they include from the checkout's root, so that the compiler cache finds them in a clone elsewhere;
# CMake's own UNITY_BUILD writes absolute paths.
function(muster_by_tens variable directory)
  set(alone "")
  foreach(source ${ARGN})
    list(APPEND alone ${CMAKE_CURRENT_SOURCE_DIR}/${source})
  endforeach()
  set(together ${${variable}})
  if(alone)
    list(REMOVE_ITEM together ${alone})
  endif()
  set(out ${alone})
  set(number 0)
  while(together)
    list(SUBLIST together 0 10 ten)
    list(REMOVE_ITEM together ${ten})
    set(text "")
    foreach(source ${ten})
      file(RELATIVE_PATH path ${CMAKE_SOURCE_DIR} ${source})
      string(APPEND text "#include \"${path}\"\n")
    endforeach()
    file(CONFIGURE OUTPUT ${directory}/tens_${number}.cc CONTENT "${text}" @ONLY)
    list(APPEND out ${directory}/tens_${number}.cc)
    math(EXPR number "${number} + 1")
  endwhile()
  set(${variable} ${out} PARENT_SCOPE)
endfunction()

add_library(muster_flags INTERFACE)
target_compile_options(muster_flags INTERFACE
  -Wall -Wextra -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual -Wconversion -Wno-sign-conversion -Werror)
target_include_directories(muster_flags INTERFACE ${CMAKE_SOURCE_DIR})
if(MUSTER_SANITIZE STREQUAL "address")
  add_compile_options(-fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
  add_link_options(-fsanitize=address,undefined)
elseif(MUSTER_SANITIZE STREQUAL "thread")
  # gcc warns of the fences in Asio, which ThreadSanitizer does not follow; data passes by locks here.
  add_compile_options(-fsanitize=thread -Wno-tsan)
  add_link_options(-fsanitize=thread)
endif()

# muster_library(<name> [SINGLY] [ROOMS subdirectories...] [DEPS public libraries...] [PRIVATE_DEPS ...] [ALONE sources...])
# One static library from every .cc of the calling directory and of the subdirectories that ROOMS
# names. ALONE: those whose private names are another's too, so that they cannot be compiled together
# with it. SINGLY: all of them are so.
function(muster_library name)
  cmake_parse_arguments(ARG "SINGLY" "" "ROOMS;DEPS;PRIVATE_DEPS;ALONE" ${ARGN})
  set(patterns ${CMAKE_CURRENT_SOURCE_DIR}/*.cc)
  foreach(room ${ARG_ROOMS})
    list(APPEND patterns ${CMAKE_CURRENT_SOURCE_DIR}/${room}/*.cc)
  endforeach()
  file(GLOB sources CONFIGURE_DEPENDS ${patterns})
  if(sources)
    if(MUSTER_UNITY AND NOT ARG_SINGLY)
      muster_by_tens(sources ${CMAKE_CURRENT_BINARY_DIR}/${name} ${ARG_ALONE})
    endif()
    add_library(${name} STATIC ${sources})
    target_link_libraries(${name} PUBLIC muster_flags ${ARG_DEPS} PRIVATE ${ARG_PRIVATE_DEPS})
  else()
    add_library(${name} INTERFACE)
    target_link_libraries(${name} INTERFACE muster_flags ${ARG_DEPS})
  endif()
endfunction()

# muster_program(<name> OUTPUT <binary name> [SUBDIR <below bin>] SOURCES ... DEPS ...)
function(muster_program name)
  cmake_parse_arguments(ARG "" "OUTPUT;SUBDIR" "SOURCES;DEPS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE muster_flags ${ARG_DEPS})
  set_target_properties(${name} PROPERTIES OUTPUT_NAME ${ARG_OUTPUT}
    RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin/${ARG_SUBDIR})
endfunction()

# muster_test(<name> LABEL <unit|property|contract|e2e|...> SOURCES ... DEPS ... [TIMEOUT s] [SERIAL])
# One GoogleTest program, one ctest entry, labelled by kind so that `ctest -L unit` runs one kind alone.
function(muster_test name)
  cmake_parse_arguments(ARG "SERIAL" "LABEL;TIMEOUT" "SOURCES;DEPS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE muster_flags ${ARG_DEPS} GTest::gmock GTest::gtest_main)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  add_test(NAME ${name} COMMAND ${name} WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 300)
  endif()
  set_tests_properties(${name} PROPERTIES LABELS "${ARG_LABEL}" TIMEOUT ${ARG_TIMEOUT})
  if(ARG_SERIAL)
    set_tests_properties(${name} PROPERTIES RUN_SERIAL ON)
  endif()
endfunction()
