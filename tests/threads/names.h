/* Of names.c and its two libraries. */
#pragma once
double gamma(double value);
long random(void);
char* index(const char* text, int wanted);
double y0(double value);
double exp(double value);
int chosen(void);
int pass_on(void);
int first_says(int what);
int second_says(int what);
void note(int who);
extern int noted[10], notes;
int not_there(void) __attribute__((weak));
